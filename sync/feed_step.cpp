#include "sync/feed_step.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/store/store.h"

namespace giftsync::sync {
namespace {

FeedEventType type_of(Status status) {
  static_assert(static_cast<int>(FeedEventType::gift_refunded) == static_cast<int>(Status::refunded));
  return static_cast<FeedEventType>(status);
}

/// Statuses with a time, and the present one, which an adopted record may have without.
store::PublishedState state_of(const FoldedStatus& folded, std::int64_t version) {
  store::PublishedState state{folded.status, 1, version};
  for (const Status status : kAllStatuses)
    if (folded.times[status]) state.add(status);
  state.add(folded.status);
  return state;
}

/// What counts as published. Of a gift that is older than the feed: what was received before the feed began;
/// its version is not known, so that every mark is published.
store::PublishedState published_before(const store::MarkedGift& marked) {
  if (marked.was_made) return {Status::sent, 0, 0};
  if (marked.published) return *marked.published;
  const store::RecipientTransaction& transaction = marked.gift.transaction;
  return state_of(fold(*transaction.times[Status::sent], marked.former_spans, transaction.untimed_status), 0);
}

std::vector<Status> new_statuses(const store::PublishedState& before, const FoldedStatus& folded) {
  std::vector<Status> reached;
  for (const Status status : kAllStatuses)
    if (folded.times[status] && !before.has(status)) reached.push_back(status);
  // A made gift was sent first, whatever the times of its source say.
  const auto key = [&](Status status) { return std::pair(status != Status::sent, *folded.times[status]); };
  std::stable_sort(reached.begin(), reached.end(), [&](Status a, Status b) { return key(a) < key(b); });
  return reached;
}

bool has_lost_status(const store::PublishedState& before, const store::PublishedState& after) {
  return (before.reached & ~after.reached) != 0;
}

class Publication {
 public:
  Publication(const store::MarkedGift& marked, const FoldedStatus& folded)
      : marked_(marked), before_(published_before(marked)), status_(before_.status) {
    made_.folded = changed_state(marked.gift, folded);
    const std::int64_t version = marked.gift.transaction.version + (made_.folded ? 1 : 0);
    made_.published = state_of(folded, version);
    add_reached(folded);
    if (made_.events.empty()) add_other(folded);
  }

  store::GiftPublication take() { return std::move(made_); }

 private:
  /// The status between two events is that of the times so far. One without a time, which an adopted record
  /// may have, follows them.
  void add_reached(const FoldedStatus& folded) {
    const std::vector<Status> reached = new_statuses(before_, folded);
    const bool is_untimed = !folded.times[folded.status] && !before_.has(folded.status);
    StatusTimes times;
    for (const Status status : kAllStatuses)
      if (before_.has(status)) times[status] = folded.times[status];
    for (std::size_t i = 0; i < reached.size(); ++i) {
      times[reached[i]] = folded.times[reached[i]];
      const bool is_last = i + 1 == reached.size() && !is_untimed;
      add(type_of(reached[i]), is_last ? folded.status : status_of(times), folded.times[reached[i]]);
    }
    if (is_untimed && !reached.empty()) add(type_of(folded.status), folded.status, std::nullopt);
  }

  void add_other(const FoldedStatus& folded) {
    const Status now = made_.published.status;
    const bool is_new_status = now != before_.status && !has_lost_status(before_, made_.published);
    if (is_new_status)
      add(type_of(now), now, folded.times[now]);
    else if (now != before_.status || made_.published.version > before_.version || marked_.is_silent)
      add(FeedEventType::gift_updated, now, std::nullopt);
  }

  void add(FeedEventType type, Status after, std::optional<UtcMillis> occurred_at) {
    const store::GiftRequest& request = marked_.gift.request;
    store::FeedEvent event;
    event.type = type;
    event.object = marked_.gift.transaction.id.value;
    event.account = request.account;
    event.organization = request.organization;
    event.status_before = type == FeedEventType::gift_sent && marked_.was_made ? "" : to_word(status_);
    event.status_after = to_word(after);
    event.version = made_.published.version;
    event.is_test = marked_.gift.transaction.is_test;
    event.occurred_at = occurred_at;
    made_.events.push_back(std::move(event));
    status_ = after;
  }

  const store::MarkedGift& marked_;
  const store::PublishedState before_;
  Status status_;  ///< after the events so far
  store::GiftPublication made_;
};

}  // namespace

std::string feed_event_id(std::int64_t epoch, std::int64_t seq) {
  return "evt_" + std::to_string(epoch) + "_" + std::to_string(seq);
}

store::GiftPublication publication_of(const store::MarkedGift& marked, const FoldedStatus& folded) {
  return Publication(marked, folded).take();
}

namespace {

std::vector<store::GiftPublication> publications_of(store::ChangeLog& log,
                                                    std::span<const store::MarkedGift> gifts) {
  std::vector<const store::Gift*> rows;
  std::vector<store::ChangeSpan> spans;
  for (const store::MarkedGift& marked : gifts) {
    rows.push_back(&marked.gift);
    spans.insert(spans.end(), marked.spans.begin(), marked.spans.end());
  }
  const std::vector<FoldedStatus> folded = fold_gifts(log, rows, spans);
  std::vector<store::GiftPublication> made;
  for (std::size_t i = 0; i < gifts.size(); ++i) made.push_back(publication_of(gifts[i], folded[i]));
  return made;
}

}  // namespace

FeedStepStats feed_step(store::Store& store, FeedPlace& place) {
  // Of the rows as they were read last: the transaction may run more than once.
  std::vector<store::MarkedGift> seen;
  const auto publish = [&](std::span<const store::MarkedGift> gifts) {
    seen.assign(gifts.begin(), gifts.end());
    return publications_of(store.changes, gifts);
  };
  const store::PublishRun run = store.feed.publish_gifts(place.after, kMaxMarksPerStep, publish);
  FeedStepStats stats;
  stats.taken = run.taken;
  stats.events = run.events;
  const bool is_end = run.taken < kMaxMarksPerStep;
  // At the end it begins again at once, unless it began there: marks may have come behind it.
  const store::PublishRun requests = store.feed.publish_requests(kMaxMarksPerStep);
  stats.events += requests.events;
  stats.more = !is_end || place.after != 0 || requests.taken >= kMaxMarksPerStep;
  place.after = is_end ? 0 : run.last;
  std::size_t at = 0;
  for (const store::FoldedState& state : run.folded) {
    while (seen[at].gift.transaction.id != state.transaction) ++at;  // both ascend
    count_reached(seen[at].gift.transaction, state.times, stats.reached);
  }
  return stats;
}

}  // namespace giftsync::sync
