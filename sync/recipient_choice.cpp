#include "sync/recipient_choice.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

using schema::Status;

schema::StatusChange change_of(schema::TransactionId gift, Status status, schema::UtcMillis now) {
  return {{}, kPageSource, gift, status, now, now, {}};
}

bool is_open(const FoldedStatus& state) {
  return allows(state, {{}, kPageSource, {}, Status::redeemed, {}, {}, {}});
}

/// Not after the choice that follows: a clock that was set back must not date it so.
bool was_opened(schema::ChangeLog& log, schema::TransactionId gift, schema::UtcMillis by) {
  const auto spans = log.spans_of(std::span(&gift, 1));
  return std::any_of(spans.begin(), spans.end(), [by](const schema::ChangeSpan& span) {
    return span.status == Status::opened && span.earliest <= by;
  });
}

}  // namespace

schema::DecidedOutcome note_opened(schema::ChangeLog& log, schema::TransactionId gift,
                                   schema::UtcMillis now) {
  return log.accept_if(change_of(gift, Status::opened, now),
                       [](schema::UtcMillis sent_at, std::span<const schema::ChangeSpan> so_far) {
                         const FoldedStatus state = fold(sent_at, so_far);
                         return is_open(state) && !state.times[Status::opened];
                       });
}

Decided choose(schema::ChangeLog& log, schema::TransactionId gift, Status choice, schema::UtcMillis now,
               const schema::HandOut& hand_out) {
  // Should it be opened between this look and the decision, it is opened twice, and the earlier one counts.
  if (was_opened(log, gift, now)) return decide_outcome(log, change_of(gift, choice, now), hand_out);
  return decide_outcome(log, change_of(gift, choice, now),
                        hand_out.and_then(log.beside(change_of(gift, Status::opened, now))));
}

FoldedStatus standing(schema::ChangeLog& log, const schema::RecipientTransaction& gift) {
  const auto spans = log.spans_of(std::span(&gift.id, 1));
  return fold(gift.times[Status::sent].value_or(schema::UtcMillis{}), spans, gift.untimed_status);
}

}  // namespace giftsync::sync
