// schema/store: what is handed out with a decision (a gift code, a donation, the withdrawal of a mail),
// written in the decision's own transaction: either all of it stands, or nothing.
#pragma once

#include <concepts>
#include <functional>
#include <utility>

namespace soci {
class session;
}

namespace giftsync::schema {

class HandOut {
 public:
  /// Nothing at all.
  HandOut() = default;
  /// For schema/'s own functions: `write` returns false when there is nothing left to hand out.
  template <class Write>
  requires std::predicate<Write, soci::session&> HandOut(Write write)
      : write_(std::move(write)) {}  // NOLINT(google-explicit-constructor)

  /// This, and then `next`, unless there was nothing left already.
  HandOut and_then(HandOut next) const {
    return [first = *this, second = std::move(next)](soci::session& session) {
      return first.write(session) && second.write(session);
    };
  }

  /// Inside the decision's transaction.
  bool write(soci::session& session) const { return !write_ || write_(session); }

 private:
  std::function<bool(soci::session&)> write_;
};

}  // namespace giftsync::schema
