#include "sync/decided_outcome.h"

#include <vector>

namespace giftsync::sync {

using schema::Premise;
using schema::Status;

namespace {

bool is_before(const std::optional<schema::UtcMillis>& time, schema::UtcMillis other) {
  return time && *time < other;
}

}  // namespace

bool allows(const FoldedStatus& state, const schema::StatusChange& change) {
  const bool claimed = state.times[Status::redeemed] || state.times[Status::donated];
  const bool refunded = state.times[Status::refunded].has_value();
  const bool expired = state.times[Status::expired].has_value();
  const bool at_large = !claimed && !refunded && !expired;
  switch (change.status) {
    case Status::redeemed:
    case Status::donated:
      return at_large;
    case Status::expired: {
      const bool opened = is_before(state.times[Status::opened], change.occurred_at);
      const bool expired_by_then = expired && *state.times[Status::expired] <= change.occurred_at;
      return !claimed && !refunded && !expired_by_then && !(change.premise == Premise::unopened && opened);
    }
    case Status::refunded:
      if (change.premise == Premise::expired) return expired && !claimed && !refunded;
      if (change.premise == Premise::undelivered) return state.status == Status::undelivered;
      return at_large;
    default:
      return true;
  }
}

Decided decide_outcome(schema::ChangeLog& log, const schema::StatusChange& change,
                       const schema::HandOut& hand_out) {
  Decided decided;
  FoldedStatus with_it;
  const auto may = [&](schema::UtcMillis sent_at, std::span<const schema::ChangeSpan> so_far) {
    decided.stands = fold(sent_at, so_far);
    if (!allows(decided.stands, change)) return false;
    std::vector<schema::ChangeSpan> with(so_far.begin(), so_far.end());
    with.push_back(
        {change.transaction, change.status, change.premise, change.occurred_at, change.occurred_at});
    with_it = fold(sent_at, with);
    return true;
  };
  decided.outcome = log.accept_if(change, may, hand_out);
  if (decided.outcome == schema::DecidedOutcome::accepted) decided.stands = with_it;
  return decided;
}

}  // namespace giftsync::sync
