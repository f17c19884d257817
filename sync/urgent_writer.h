// sync: makes small writes that a caller waits for durable, each alone or in one commit with those of other
// callers (ARCH-22).
#pragma once

#include <functional>
#include <optional>

#include "schema/store/urgent_writes.h"

namespace giftsync::sync {

using schema::store::Written;

class UrgentWriter {
 public:
  /// Called exactly once, after the write is durable or has failed, on the writer's thread. It must not block
  /// and not throw: all other callers wait for it.
  template <class Outcome>
  using Done = std::function<void(Written<Outcome>)>;

  virtual ~UrgentWriter() = default;

  /// Does not wait. False: too many writes of this kind are waiting, or the writer stops; `done` is not
  /// called then: try again later. If the connection breaks during COMMIT, the writer waits until the store
  /// can say whether the commit happened; only if it stays unreachable is the outcome of a gift request
  /// `unknown`, and the others have a fault. Any thread.
  [[nodiscard]] virtual bool submit(schema::store::NewGiftRequest request,
                                    Done<schema::store::CreateOutcome> done) = 0;
  [[nodiscard]] virtual bool submit(schema::store::InboundBatch message,
                                    Done<schema::store::IngestResult> done) = 0;
  /// The decision's condition and effect run on the writer's thread.
  [[nodiscard]] virtual bool submit(schema::store::Decision decision,
                                    Done<schema::store::ConditionalOutcome> done) = 0;

  /// The same, durable on return. Nullopt: try again later. Throws platform::DependencyError when the store
  /// fails. Any thread but the writer's.
  virtual std::optional<schema::store::CreateOutcome> write(schema::store::NewGiftRequest request) = 0;
  virtual std::optional<schema::store::IngestResult> write(schema::store::InboundBatch message) = 0;
  virtual std::optional<schema::store::ConditionalOutcome> write(schema::store::Decision decision) = 0;
};

}  // namespace giftsync::sync
