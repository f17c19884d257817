// schema/store: the side effect of a decision (a gift code, a donation, the withdrawal of a mail), written
// in the decision's own transaction: both are committed or neither.
#pragma once

#include <concepts>
#include <functional>
#include <utility>

namespace soci {
class session;
}

namespace giftsync::schema::store {

class TransactionEffect {
 public:
  /// No effect.
  TransactionEffect() = default;
  /// For schema/'s own functions: `apply` returns false when the effect is impossible.
  template <class Write>
  requires std::predicate<Write, soci::session&> TransactionEffect(Write apply)
      : apply_(std::move(apply)) {}  // NOLINT(google-explicit-constructor)

  /// This effect and then `next`, unless this one is impossible.
  TransactionEffect and_then(TransactionEffect next) const {
    return [first = *this, second = std::move(next)](soci::session& session) {
      return first.apply(session) && second.apply(session);
    };
  }

  /// Inside the decision's transaction.
  bool apply(soci::session& session) const { return !apply_ || apply_(session); }

 private:
  std::function<bool(soci::session&)> apply_;
};

}  // namespace giftsync::schema::store
