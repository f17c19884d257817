#include "sync/recipient_actions.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

schema::store::StatusChange page_change(schema::TransactionId gift, schema::Status status,
                                        platform::UtcMillis now) {
  return {{}, kPageSource, gift, status, now, now, {}};
}

bool is_open(const FoldedStatus& state) {
  return allows(state, {{}, kPageSource, {}, schema::Status::redeemed, {}, {}, {}});
}

/// Not after the choice that follows: a clock that was set back must not date it later.
bool was_opened(schema::store::ChangeLog& log, schema::TransactionId gift, platform::UtcMillis by) {
  const auto spans = log.spans_of(std::span(&gift, 1));
  return std::any_of(spans.begin(), spans.end(), [by](const schema::store::ChangeSpan& span) {
    return span.status == schema::Status::opened && span.earliest <= by;
  });
}

}  // namespace

schema::store::Decision opened_decision(schema::TransactionId gift, platform::UtcMillis now) {
  return {page_change(gift, schema::Status::opened, now),
          [](platform::UtcMillis sent_at, std::span<const schema::store::ChangeSpan> so_far) {
            const FoldedStatus state = fold(sent_at, so_far);
            return is_open(state) && !state.times[schema::Status::opened];
          },
          {}};
}

schema::store::ConditionalOutcome record_opened(schema::store::ChangeLog& log, schema::TransactionId gift,
                                                platform::UtcMillis now) {
  const schema::store::Decision opened = opened_decision(gift, now);
  return log.accept_if(opened.change, opened.condition, opened.effect);
}

PendingOutcome redeem_or_donate_decision(schema::store::ChangeLog& log, schema::TransactionId gift,
                                         schema::Status choice, platform::UtcMillis now,
                                         const schema::store::TransactionEffect& effect) {
  // If it is opened between this read and the decision, both openings are stored and the earlier one counts.
  if (was_opened(log, gift, now)) return {page_change(gift, choice, now), effect};
  return {page_change(gift, choice, now),
          effect.and_then(log.additional_change(page_change(gift, schema::Status::opened, now)))};
}

OutcomeResult redeem_or_donate(schema::store::ChangeLog& log, schema::TransactionId gift,
                               schema::Status choice, platform::UtcMillis now,
                               const schema::store::TransactionEffect& effect) {
  const PendingOutcome pending = redeem_or_donate_decision(log, gift, choice, now, effect);
  const schema::store::Decision& decision = pending.decision();
  return pending.result(log.accept_if(decision.change, decision.condition, decision.effect));
}

FoldedStatus current_status(schema::store::ChangeLog& log, const schema::store::RecipientTransaction& gift) {
  return current_status(gift, log.spans_of(std::span(&gift.id, 1)));
}

FoldedStatus current_status(const schema::store::RecipientTransaction& gift,
                            std::span<const schema::store::ChangeSpan> changes) {
  return fold(gift.times[schema::Status::sent].value_or(platform::UtcMillis{}), changes, gift.untimed_status);
}

}  // namespace giftsync::sync
