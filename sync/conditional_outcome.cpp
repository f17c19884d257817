#include "sync/conditional_outcome.h"

#include <vector>

namespace giftsync::sync {

namespace {

bool is_before(const std::optional<platform::UtcMillis>& time, platform::UtcMillis other) {
  return time && *time < other;
}

}  // namespace

bool allows(const FoldedStatus& state, const schema::store::StatusChange& change) {
  const bool claimed = state.times[schema::Status::redeemed] || state.times[schema::Status::donated];
  const bool refunded = state.times[schema::Status::refunded].has_value();
  const bool expired = state.times[schema::Status::expired].has_value();
  const bool is_claimable = !claimed && !refunded && !expired;
  switch (change.status) {
    case schema::Status::redeemed:
    case schema::Status::donated:
      return is_claimable;
    case schema::Status::expired: {
      const bool opened = is_before(state.times[schema::Status::opened], change.occurred_at);
      const bool expired_by_then = expired && *state.times[schema::Status::expired] <= change.occurred_at;
      return !claimed && !refunded && !expired_by_then &&
             !(change.premise == schema::Premise::unopened && opened);
    }
    case schema::Status::refunded:
      if (change.premise == schema::Premise::expired) return expired && !claimed && !refunded;
      if (change.premise == schema::Premise::undelivered) return state.status == schema::Status::undelivered;
      return is_claimable;
    default:
      return true;
  }
}

OutcomeResult apply_conditional_outcome(schema::store::ChangeLog& log,
                                        const schema::store::StatusChange& change,
                                        const schema::store::TransactionEffect& effect) {
  OutcomeResult decided;
  FoldedStatus state_with_change;
  const auto is_allowed = [&](platform::UtcMillis sent_at,
                              std::span<const schema::store::ChangeSpan> so_far) {
    decided.state = fold(sent_at, so_far);
    if (!allows(decided.state, change)) return false;
    std::vector<schema::store::ChangeSpan> spans(so_far.begin(), so_far.end());
    spans.push_back(span_of(change));
    state_with_change = fold(sent_at, spans);
    return true;
  };
  decided.outcome = log.accept_if(change, is_allowed, effect);
  if (decided.outcome == schema::store::ConditionalOutcome::accepted) decided.state = state_with_change;
  return decided;
}

}  // namespace giftsync::sync
