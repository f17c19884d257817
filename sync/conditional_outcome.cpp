#include "sync/conditional_outcome.h"

#include <utility>
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

PendingOutcome::PendingOutcome(schema::store::StatusChange change, schema::store::TransactionEffect effect)
    : states_(std::make_shared<States>()) {
  const auto is_allowed = [states = states_, change](platform::UtcMillis sent_at,
                                                     std::span<const schema::store::ChangeSpan> so_far) {
    states->before = fold(sent_at, so_far);
    if (!allows(states->before, change)) return false;
    std::vector<schema::store::ChangeSpan> spans(so_far.begin(), so_far.end());
    spans.push_back(span_of(change));
    states->with_change = fold(sent_at, spans);
    return true;
  };
  decision_ = {std::move(change), is_allowed, std::move(effect)};
}

OutcomeResult PendingOutcome::result(schema::store::ConditionalOutcome outcome) const {
  const bool is_accepted = outcome == schema::store::ConditionalOutcome::accepted;
  return {outcome, is_accepted ? states_->with_change : states_->before};
}

OutcomeResult apply_conditional_outcome(schema::store::ChangeLog& log,
                                        const schema::store::StatusChange& change,
                                        const schema::store::TransactionEffect& effect) {
  const PendingOutcome pending(change, effect);
  const schema::store::Decision& decision = pending.decision();
  return pending.result(log.accept_if(decision.change, decision.condition, decision.effect));
}

}  // namespace giftsync::sync
