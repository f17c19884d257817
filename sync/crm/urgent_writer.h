// sync: makes small writes that a caller waits for durable, each alone or in one commit with those of other
// callers (ARCH-22).
#pragma once

#include <functional>
#include <optional>

#include "schema/store/crm/urgent_writes.h"

namespace giftsync::sync {

using store::Written;

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
  [[nodiscard]] virtual bool submit(store::NewGiftRequest request, Done<store::CreateOutcome> done) = 0;
  [[nodiscard]] virtual bool submit(store::InboundBatch message, Done<store::IngestResult> done) = 0;
  /// The decision's condition and effect run on the writer's thread.
  [[nodiscard]] virtual bool submit(store::Decision decision, Done<store::ConditionalOutcome> done) = 0;

  /// The same, durable on return. Nullopt: try again later. Throws DependencyError when the store
  /// fails. Any thread but the writer's.
  virtual std::optional<store::CreateOutcome> write(store::NewGiftRequest request) = 0;
  virtual std::optional<store::IngestResult> write(store::InboundBatch message) = 0;
  virtual std::optional<store::ConditionalOutcome> write(store::Decision decision) = 0;
};

}  // namespace giftsync::sync
