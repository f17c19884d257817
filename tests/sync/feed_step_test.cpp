// Which events come of a change: a table of the rules, and a property over random changes in any split into
// steps (API-11).
#include "sync/feed_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "schema/store/store.h"

namespace giftsync::sync {
namespace {

using store::MarkedGift;
using store::PublishedState;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kSent{1'800'000'000'000};

store::ChangeSpan span(Status status, std::int64_t after_millis) {
  return {{1}, status, Premise::none, kSent + after_millis, kSent + after_millis};
}

MarkedGift gift() {
  MarkedGift marked;
  marked.gift.request.account = {7};
  marked.gift.request.created_at = kSent;
  marked.gift.transaction.id = {1};
  marked.gift.transaction.times[Status::sent] = kSent;
  marked.published = PublishedState{};
  return marked;
}

store::GiftPublication publication(const MarkedGift& marked) {
  return publication_of(marked, fold(kSent, marked.spans, marked.gift.transaction.untimed_status));
}

/// "gift.opened delivered>opened 2"
std::vector<std::string> texts(const std::vector<store::FeedEvent>& events) {
  std::vector<std::string> all;
  for (const store::FeedEvent& event : events)
    all.push_back(std::string(to_word(event.type)) + " " + event.status_before + ">" + event.status_after +
                  " " + std::to_string(event.version));
  return all;
}

/// "gift.opened 20": milliseconds after it was sent; "gift.opened -" without a time.
std::vector<std::string> timed(const std::vector<store::FeedEvent>& events) {
  std::vector<std::string> all;
  for (const store::FeedEvent& event : events)
    all.push_back(std::string(to_word(event.type)) + " " +
                  (event.occurred_at ? std::to_string(event.occurred_at->value - kSent.value) : "-"));
  return all;
}

/// The gift as the store has it after the publication.
MarkedGift after(MarkedGift marked, const store::GiftPublication& made) {
  marked.published = made.published;
  marked.was_made = marked.is_silent = false;
  if (!made.folded) return marked;
  store::RecipientTransaction& row = marked.gift.transaction;
  row.status = made.folded->status;
  row.times = made.folded->times;
  row.has_conflict = made.folded->has_conflict;
  ++row.version;
  return marked;
}

// API-11
TEST(FeedStep, AMadeGiftIsSent) {
  MarkedGift marked = gift();
  marked.was_made = true;
  const store::GiftPublication made = publication(marked);
  EXPECT_THAT(texts(made.events), ElementsAre("gift.sent >sent 1"));
  EXPECT_EQ(made.published, *marked.published) << "its row is not written again";
  EXPECT_FALSE(made.folded);
  EXPECT_EQ(made.events.front().account, AccountId{7});
  EXPECT_EQ(made.events.front().object, 1);
}

// API-11
TEST(FeedStep, AStatusWithoutATimeHasItsEvent) {
  MarkedGift marked = gift();
  marked.was_made = true;
  marked.gift.transaction.untimed_status = Status::redeemed;  // an adopted record's
  marked.spans = {span(Status::delivered, 10)};
  const store::GiftPublication made = publication(marked);
  EXPECT_THAT(texts(made.events), ElementsAre("gift.sent >sent 2", "gift.delivered sent>delivered 2",
                                              "gift.redeemed delivered>redeemed 2"));
  EXPECT_THAT(timed(made.events), ElementsAre("gift.sent 0", "gift.delivered 10", "gift.redeemed -"));
  marked = after(marked, made);
  EXPECT_THAT(texts(publication(marked).events), IsEmpty());
  marked.spans.push_back(span(Status::opened, 20));
  EXPECT_THAT(texts(publication(marked).events), ElementsAre("gift.opened redeemed>redeemed 3"));
}

// API-11
TEST(FeedStep, ABacklogMergesNoStatus) {
  MarkedGift marked = gift();
  marked.was_made = true;
  marked.spans = {span(Status::opened, 20), span(Status::delivered, 10), span(Status::redeemed, 30)};
  const store::GiftPublication made = publication(marked);
  EXPECT_THAT(texts(made.events),
              ElementsAre("gift.sent >sent 2", "gift.delivered sent>delivered 2",
                          "gift.opened delivered>opened 2", "gift.redeemed opened>redeemed 2"));
  ASSERT_TRUE(made.folded);
  EXPECT_EQ(made.folded->status, Status::redeemed);
  EXPECT_EQ(made.published.version, 2);
}

// API-11
TEST(FeedStep, ALateStatusHasItsEventAndThePresentStatusStays) {
  MarkedGift marked = gift();
  marked.spans = {span(Status::opened, 20)};
  marked = after(marked, publication(marked));
  marked.spans.push_back(span(Status::delivered, 10));
  EXPECT_THAT(texts(publication(marked).events), ElementsAre("gift.delivered opened>opened 3"));
  EXPECT_THAT(timed(publication(marked).events), ElementsAre("gift.delivered 10"));
}

// API-11
TEST(FeedStep, AnEventHasTheTimeOfTheStatusThatItsTypeNames) {
  MarkedGift marked = gift();
  marked.spans = {span(Status::delivered, 20)};
  marked = after(marked, publication(marked));
  marked.spans.push_back(span(Status::undelivered, 10));
  EXPECT_THAT(timed(publication(marked).events), ElementsAre("gift.undelivered 10"));
  marked.spans = {span(Status::redeemed, 40)};
  marked = after(marked, publication(marked));
  marked.spans.push_back(span(Status::donated, 30));
  EXPECT_THAT(timed(publication(marked).events), ElementsAre("gift.donated 30"));
  marked = after(marked, publication(marked));
  marked.spans.pop_back();
  EXPECT_THAT(timed(publication(marked).events), ElementsAre("gift.redeemed 40")) << "the donation is voided";
  marked.is_silent = true;
  marked.spans.push_back(span(Status::donated, 30));
  EXPECT_THAT(timed(publication(marked).events), ElementsAre("gift.updated -"));
}

// API-11
TEST(FeedStep, AStatusThatComesAgainHasAnEvent) {
  MarkedGift marked = gift();
  marked.spans = {span(Status::delivered, 10), span(Status::undelivered, 20)};
  marked = after(marked, publication(marked));
  marked.spans[0].latest = kSent + 30;
  EXPECT_THAT(texts(publication(marked).events), ElementsAre("gift.delivered undelivered>delivered 3"));
  EXPECT_THAT(timed(publication(marked).events), ElementsAre("gift.delivered 30"));
}

// API-11
TEST(FeedStep, EverythingElseIsAnUpdate) {
  MarkedGift marked = gift();
  marked.spans = {span(Status::opened, 10), span(Status::refunded, 20)};
  marked = after(marked, publication(marked));
  MarkedGift voided = marked;
  voided.spans.pop_back();
  EXPECT_THAT(texts(publication(voided).events), ElementsAre("gift.updated refunded>opened 3"));
  MarkedGift readdressed = marked;
  ++readdressed.gift.transaction.version;
  EXPECT_THAT(texts(publication(readdressed).events), ElementsAre("gift.updated refunded>refunded 3"));
  MarkedGift erased = marked;
  erased.is_silent = true;
  EXPECT_THAT(texts(publication(erased).events), ElementsAre("gift.updated refunded>refunded 2"));
}

// API-11
TEST(FeedStep, AMarkWithoutAChangeIsNoEvent) {
  MarkedGift marked = gift();
  marked.spans = {span(Status::opened, 10)};
  marked = after(marked, publication(marked));
  const store::GiftPublication made = publication(marked);
  EXPECT_THAT(made.events, IsEmpty());
  EXPECT_FALSE(made.folded);
  EXPECT_EQ(made.published, *marked.published);
}

// API-11
TEST(FeedStep, OfAnOlderGiftWhatWasReceivedBeforeCountsAsPublished) {
  MarkedGift marked = gift();
  marked.published.reset();
  marked.former_spans = {span(Status::delivered, 10)};
  marked.spans = {span(Status::delivered, 10), span(Status::opened, 20)};
  EXPECT_THAT(texts(publication(marked).events), ElementsAre("gift.opened delivered>opened 2"));
  marked.spans = marked.former_spans;
  EXPECT_THAT(texts(publication(marked).events), ElementsAre("gift.updated delivered>delivered 2"))
      << "what was published of it is not known, so the mark is an event";
}

// API-11: each status that a gift comes to is published once, and the last event names its status, however
// the changes are split into steps and which worker folds them first. Who folds the events by their times has
// the gift's status and times.
TEST(FeedStep, PublishesEachStatusOnceInAnySplit) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  for (int round = 0; round < 2'000; ++round) {
    MarkedGift marked = gift();
    marked.was_made = true;
    std::vector<store::FeedEvent> all;
    const std::size_t steps = 1 + below(5);
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::size_t i = below(3); i > 0; --i) {
        const Status status = kAllStatuses[1 + below(kAllStatuses.size() - 1)];
        const bool is_known = std::any_of(marked.spans.begin(), marked.spans.end(),
                                          [&](const auto& one) { return one.status == status; });
        if (!is_known) marked.spans.push_back(span(status, static_cast<std::int64_t>(1 + below(50))));
      }
      if (below(2) == 0) {  // another worker has folded it
        const FoldedStatus folded = fold(kSent, marked.spans);
        store::RecipientTransaction& row = marked.gift.transaction;
        if (!(folded.status == row.status && folded.times == row.times &&
              folded.has_conflict == row.has_conflict)) {
          row.status = folded.status;
          row.times = folded.times;
          row.has_conflict = folded.has_conflict;
          ++row.version;
        }
      }
      const store::GiftPublication made = publication(marked);
      all.insert(all.end(), made.events.begin(), made.events.end());
      marked = after(marked, made);
    }
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().type, FeedEventType::gift_sent);
    const FoldedStatus folded = fold(kSent, marked.spans);
    EXPECT_EQ(all.back().status_after, to_word(folded.status)) << "round " << round;
    EXPECT_EQ(all.back().version, marked.gift.transaction.version) << "round " << round;
    std::multiset<FeedEventType> types;
    for (std::size_t i = 0; i < all.size(); ++i) {
      types.insert(all[i].type);
      if (i == 0) continue;
      EXPECT_EQ(all[i].status_before, all[i - 1].status_after) << "round " << round;
      EXPECT_GE(all[i].version, all[i - 1].version) << "round " << round;
    }
    for (const Status status : kAllStatuses) {
      if (!folded.times[status]) continue;
      EXPECT_GE(types.count(static_cast<FeedEventType>(status)), 1u)
          << "round " << round << ": " << to_word(status);
    }
    std::vector<store::ChangeSpan> followed;
    for (const store::FeedEvent& event : all) {
      if (event.type == FeedEventType::gift_updated || event.type == FeedEventType::gift_sent) continue;
      ASSERT_TRUE(event.occurred_at) << "round " << round << ": " << to_word(event.type);
      followed.push_back(span(static_cast<Status>(event.type), event.occurred_at->value - kSent.value));
    }
    EXPECT_EQ(fold(kSent, followed).status, folded.status) << "round " << round;
    EXPECT_EQ(fold(kSent, followed).times, folded.times) << "round " << round;
  }
}

}  // namespace
}  // namespace giftsync::sync
