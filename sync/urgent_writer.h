// sync: makes small writes that a caller waits for durable, each alone or in one commit with those of other
// callers (ARCH-22).
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "schema/store/gift_requests.h"

namespace giftsync::sync {

/// What became of one write: its outcome, or the fault for which it was not made.
template <class Outcome>
struct Written {
  Outcome outcome{};
  std::exception_ptr fault{};  ///< a platform::DependencyError; null when there is an outcome

  /// Throws the fault.
  Outcome value() && {
    if (fault) std::rethrow_exception(fault);
    return std::move(outcome);
  }
};

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
  /// `unknown`. Any thread.
  [[nodiscard]] virtual bool submit(schema::store::NewGiftRequest request,
                                    Done<schema::store::CreateOutcome> done) = 0;

  /// The same, durable on return. Nullopt: try again later. Throws platform::DependencyError when the store
  /// fails. Any thread but the writer's.
  virtual std::optional<schema::store::CreateOutcome> write(schema::store::NewGiftRequest request) = 0;
};

}  // namespace giftsync::sync
