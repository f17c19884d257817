// The counts of reports on each back end: whatever happens to gifts, in any order and by several writers,
// they come to what the gifts are (NUM-1 to NUM-8).
#include "sync/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "schema/sql/queries.h"
#include "schema/store/store.h"
#include "sync/crm/gift_folds.h"
#include "tests/support/query_plan.h"
#include "tests/support/random_changes.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using store::RollupDimension;
using store::RollupQuestion;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using FillStep = store::Rollups::FillStep;

constexpr std::int64_t kDay = 20'833;  // of kSentAt, 2027-01-15
constexpr UtcMillis kLater{1'900'000'000'000};

/// A day of all: what is not named is 0.
struct Expected {
  std::int64_t sent = 0;
  std::int64_t opened = 0;
  std::int64_t redeemed = 0;
  std::int64_t refunded = 0;
  std::int64_t cost = 0;
};
void expect_numbers(const GiftNumbers& numbers, const Expected& expected) {
  EXPECT_EQ(numbers[Measure::sent], expected.sent);
  EXPECT_EQ(numbers[Measure::opened], expected.opened);
  EXPECT_EQ(numbers[Measure::redeemed], expected.redeemed);
  EXPECT_EQ(numbers[Measure::refunded], expected.refunded);
  EXPECT_EQ(numbers[Measure::cost], expected.cost);
}

class ReportTest : public tests::StoreFixture {
 protected:
  static store::NewGiftRequest request(const std::string& campaign = "", std::size_t gifts = 1) {
    store::NewGiftRequest asked = request_for(gifts);
    asked.request.costs.item = Money{500};
    asked.request.costs.transaction_fee = Money{45};
    if (!campaign.empty()) asked.request.utm_campaign_id = campaign;
    return asked;
  }
  std::vector<TransactionId> send(const store::NewGiftRequest& asked) {
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&asked, 1));
    for (const auto& made : outcomes.front().recipients) ids.push_back(made.id);
    return ids;
  }
  TransactionId send_one(const std::string& campaign = "") { return send(request(campaign)).front(); }
  void accept(TransactionId gift, Status status, std::int64_t after_millis, Premise premise = Premise::none) {
    store::StatusChange change{{}, "test", gift, status, kSentAt + after_millis, kSentAt, {}};
    change.premise = premise;
    store_->changes.accept(std::span(&change, 1));
  }
  static void fold_all(store::Store& store) {
    FoldPlace place;
    while (fold_step(store, place, kLater).more) continue;
  }
  void count_all() {
    fold_all(*store_);
    while (store_->rollups.add_deltas() > 0) continue;
  }
  std::vector<store::RollupDifference> differences() {
    std::vector<store::RollupDifference> all;
    for (auto day = store_->rollups.previous_day({}); day; day = store_->rollups.previous_day(*day))
      for (auto& difference : store_->rollups.check(*day)) all.push_back(std::move(difference));
    return all;
  }
  std::map<std::string, GiftNumbers> by(RollupDimension dimension) {
    return store_->rollups.sum_by_key({.dimension = dimension, .first_day = 0, .last_day = kDay + 1'000});
  }
  GiftNumbers all() { return by(RollupDimension::all)[""]; }
  /// Seen just now.
  void insert_former_daemon() {
    sql("INSERT INTO daemon_instance (id, host, pid, version, listen, settings_file, settings, started_at, "
        "loaded_at, reload_faults, last_seen_at) VALUES ('d', 'h', 1, '1', 'l', 'f', 's', 1, 1, '', " +
        std::string(sql::database_now(dialect())) + ")");
  }
  /// As a store of the version before, whose gifts are not counted.
  void forget_counts() {
    sql("DELETE FROM gift_rollup");
    sql("DELETE FROM gift_rollup_delta");
    sql("DELETE FROM store_metadata WHERE name = 'gift_rollup_filled'");
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ReportTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: NUM-1
TEST(GiftNumbersOf, AGiftCountsInEachStatusThatItCameTo) {
  CountedGift gift{.by = {}, .cost = Money{545}, .status = Status::refunded, .times = {}};
  gift.times[Status::sent] = UtcMillis{1'000};
  gift.times[Status::opened] = UtcMillis{2'000};
  gift.times[Status::redeemed] = UtcMillis{1'000 + 7'200'000};
  const GiftNumbers numbers = numbers_of(gift);
  for (const Status status : kAllStatuses) {
    const bool has_come = status == Status::sent || status == Status::opened || status == Status::redeemed ||
                          status == Status::refunded;
    EXPECT_EQ(numbers[status], has_come ? 1 : 0) << to_word(status);
  }
  EXPECT_EQ(numbers.cost(), Money{545});
  EXPECT_EQ(numbers.spend(), Money{0}) << "it is refunded";
  EXPECT_EQ(numbers[Measure::redeem_seconds], 7'200);
  EXPECT_EQ(numbers[Measure::redeemed_6h], 1);
  EXPECT_EQ(numbers[Measure::redeemed_1h], 0);
}

// covers: NUM-7
TEST(GiftNumbersOf, TheMedianIsInTheBucketOfTheMiddleGift) {
  GiftNumbers numbers;
  EXPECT_EQ(median_redeem_seconds(numbers), std::nullopt);
  EXPECT_EQ(redemption_rate(numbers), std::nullopt);
  numbers[Measure::sent] = 8;
  numbers[Measure::redeemed] = 4;
  numbers[Measure::redeemed_1h] = 1;
  numbers[Measure::redeemed_6h] = 2;
  numbers[Measure::redeemed_later] = 1;
  numbers[Measure::redeem_seconds] = 40'000;
  EXPECT_EQ(redemption_rate(numbers), 0.5);
  EXPECT_EQ(mean_redeem_seconds(numbers), 10'000);
  EXPECT_EQ(median_redeem_seconds(numbers), 3'600 + 18'000 / 2);
  numbers[Measure::redeemed_later] = 10;
  EXPECT_EQ(median_redeem_seconds(numbers), std::nullopt) << "the last bucket has no end";
}

// covers: NUM-1, NUM-3
TEST_P(ReportTest, EachDimensionCountsTheGiftsAndTestGiftsAreLeftOut) {
  store::NewGiftRequest autumn = request("autumn", 2);
  autumn.request.account = {17};
  autumn.request.organization = OrganizationId{3};
  const std::vector<TransactionId> gifts = send(autumn);
  send_one();
  store::NewGiftRequest test = request("autumn", 5);
  test.request.is_test = true;
  send(test);
  accept(gifts[0], Status::opened, 1'000);
  accept(gifts[0], Status::redeemed, 7'200'000);
  accept(gifts[1], Status::refunded, 1'000);
  count_all();
  expect_numbers(all(), {.sent = 3, .opened = 1, .redeemed = 1, .refunded = 1, .cost = 3 * 545});
  expect_numbers(by(RollupDimension::account)["17"],
                 {.sent = 2, .opened = 1, .redeemed = 1, .refunded = 1, .cost = 2 * 545});
  expect_numbers(by(RollupDimension::campaign)["=autumn"],
                 {.sent = 2, .opened = 1, .redeemed = 1, .refunded = 1, .cost = 2 * 545});
  expect_numbers(by(RollupDimension::campaign)[""], {.sent = 1, .cost = 545});
  expect_numbers(by(RollupDimension::item)["7"],
                 {.sent = 3, .opened = 1, .redeemed = 1, .refunded = 1, .cost = 3 * 545});
  EXPECT_EQ(by(RollupDimension::source)[""][Measure::sent], 3);
  const RollupQuestion of_organization{.dimension = RollupDimension::all,
                                       .first_day = kDay,
                                       .last_day = kDay,
                                       .organization = OrganizationId{3}};
  EXPECT_EQ(store_->rollups.sum_by_key(of_organization)[""][Measure::sent], 2);
  EXPECT_THAT(differences(), IsEmpty());
}

// covers: NUM-3
TEST_P(ReportTest, AVoidedChangeCountsNoMoreAndARestoredOneAgain) {
  const TransactionId gift = send_one("autumn");
  accept(gift, Status::redeemed, 60'000);
  accept(gift, Status::redeemed, 60'000);
  count_all();
  EXPECT_EQ(all()[Measure::redeemed], 1);
  const ChangeId change = store_->changes.history(gift).front().id;
  store_->changes.void_change(change, {kSentAt, "ana", ""});
  count_all();
  EXPECT_EQ(all()[Measure::redeemed], 0);
  EXPECT_EQ(all()[Measure::redeem_seconds], 0);
  store_->changes.restore_change(change, {kSentAt, "ana", ""});
  count_all();
  EXPECT_EQ(all()[Measure::redeemed_1h], 1);
  EXPECT_THAT(differences(), IsEmpty());
}

// covers: NUM-3, NUM-4
TEST_P(ReportTest, AnyChangesInAnyOrderByAnyWritersComeToWhatTheGiftsAre) {
  SCOPED_TRACE(tests::seed_info(0));
  std::mt19937 random(tests::seed());
  std::vector<TransactionId> gifts;
  for (int i = 0; i < 12; ++i) {
    store::NewGiftRequest asked = request(i % 3 == 0 ? "" : "c" + std::to_string(i % 4), 5);
    asked.request.account = {1 + i % 3};
    asked.request.created_at = kSentAt + (i % 2) * kDayMillis;
    for (const TransactionId id : send(asked)) gifts.push_back(id);
  }
  std::vector<store::StatusChange> changes;
  for (std::size_t i = 0; i < gifts.size() * 5; ++i)
    changes.push_back(tests::random_change(random, gifts[random() % gifts.size()]));
  tests::shuffle_with_repeats(changes, random);
  // Two daemons: each folds, and each adds up what both inserted.
  std::atomic<bool> is_ended = false;
  std::vector<std::thread> daemons;
  for (int i = 0; i < 2; ++i)
    daemons.emplace_back([this, &is_ended] {
      store::Store store(address());
      while (!is_ended) {
        FoldPlace place;
        fold_step(store, place, kLater);
        store.rollups.add_deltas();
      }
    });
  for (std::size_t at = 0; at < changes.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 20, changes.size() - at);
    store_->changes.accept(std::span(changes).subspan(at, size));
    at += size;
    const TransactionId gift = gifts[random() % gifts.size()];
    for (const store::StatusChange& change : store_->changes.history(gift)) {
      if (change.voiding)
        store_->changes.restore_change(change.id, {kSentAt, "ana", ""});
      else if (random() % 3 == 0)
        store_->changes.void_change(change.id, {kSentAt, "ana", ""});
    }
  }
  is_ended = true;
  for (std::thread& daemon : daemons) daemon.join();
  count_all();
  EXPECT_THAT(differences(), IsEmpty());
  // By the gifts' rows, without any code of the counts.
  GiftNumbers counted;
  for (const store::Gift& gift : store_->gifts.find(gifts))
    for (const Status status : kAllStatuses)
      counted.values[static_cast<std::size_t>(status)] +=
          gift.transaction.times[status] || gift.transaction.status == status ? 1 : 0;
  const GiftNumbers rows = all();
  for (const Status status : kAllStatuses) EXPECT_EQ(rows[status], counted[status]) << to_word(status);
  EXPECT_EQ(rows.cost(), Money{545 * static_cast<std::int64_t>(gifts.size())});
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM gift_rollup_delta"), "0");
}

// covers: NUM-2
TEST_P(ReportTest, MoreCampaignsThanTheLimitCountTogether) {
  std::vector<store::NewGiftRequest> asked;
  for (std::int64_t i = 0; i < store::kMaxCampaignsPerDay + 2; ++i)
    asked.push_back(request("c" + std::to_string(1'000 + i)));
  for (std::size_t at = 0; at < asked.size(); at += 500)
    store_->gifts.create(std::span(asked).subspan(at, std::min<std::size_t>(500, asked.size() - at)));
  count_all();
  auto campaigns = by(RollupDimension::campaign);
  EXPECT_THAT(campaigns, SizeIs(store::kMaxCampaignsPerDay + 1));
  EXPECT_EQ(campaigns["*"][Measure::sent], 2);
  const TransactionId late = send_one("another");
  count_all();
  accept(late, Status::opened, 1'000);
  count_all();
  campaigns = by(RollupDimension::campaign);
  EXPECT_FALSE(campaigns.contains("=another"));
  EXPECT_EQ(campaigns["*"][Measure::sent], 3);
  EXPECT_EQ(campaigns["*"][Measure::opened], 1);
  EXPECT_THAT(differences(), IsEmpty()) << "a check tells the same ones apart";
  store::NewGiftRequest tomorrow = request("another");
  tomorrow.request.created_at = kSentAt + kDayMillis;
  send(tomorrow);
  count_all();
  EXPECT_TRUE(by(RollupDimension::campaign).contains("=another")) << "each day has its own";
}

// covers: NUM-5
TEST_P(ReportTest, GiftsFromBeforeTheCountsAreCountedADayAStepWhileOthersChange) {
  for (int day = 0; day < 3; ++day) {
    store::NewGiftRequest asked = request("autumn", 4);
    asked.request.created_at = kSentAt + day * kDayMillis;
    send(asked);
  }
  const TransactionId changed = send_one();
  fold_all(*store_);
  forget_counts();
  EXPECT_FALSE(store_->rollups.progress().is_whole);
  EXPECT_EQ(store_->rollups.progress().from_day, std::nullopt);
  accept(changed, Status::opened, 1'000);
  fold_all(*store_);  // its difference waits
  EXPECT_EQ(store_->rollups.fill_step(), FillStep::more);
  EXPECT_EQ(store_->rollups.progress().from_day, kDay + 2) << "the latest first";
  EXPECT_EQ(store_->rollups.fill_step([] { return false; }), FillStep::again) << "as when it is killed";
  store_ = std::make_unique<store::Store>(address());
  EXPECT_EQ(store_->rollups.progress().from_day, kDay + 2);
  store_->rollups.add_deltas();
  accept(changed, Status::redeemed, 2'000);
  fold_all(*store_);
  int steps = 0;
  while (store_->rollups.fill_step() != FillStep::done) ASSERT_LT(++steps, 10);
  EXPECT_TRUE(store_->rollups.progress().is_whole);
  EXPECT_EQ(store_->rollups.fill_step(), FillStep::done);
  count_all();
  expect_numbers(all(), {.sent = 13, .opened = 1, .redeemed = 1, .cost = 13 * 545});
  EXPECT_THAT(differences(), IsEmpty());
}

// covers: NUM-5
TEST_P(ReportTest, TheFillWaitsForDaemonsThatDoNotCount) {
  send_one();
  forget_counts();
  insert_former_daemon();
  EXPECT_EQ(store_->rollups.fill_step(), FillStep::waits);
  sql("UPDATE daemon_instance SET last_seen_at = last_seen_at - 61000");
  EXPECT_EQ(store_->rollups.fill_step(), FillStep::more);
}

// covers: NUM-5
TEST_P(ReportTest, ADayThatItsLastGiftLeftBeforeItWasCountedComesToNothing) {
  send_one();
  forget_counts();
  // As when the report of its sending came late: a gift of kDay + 5 is one of kDay now.
  sql("INSERT INTO gift_rollup_delta (day, organization_id, account_id, item, campaign, source, sent) VALUES "
      "(" +
      std::to_string(kDay + 5) + ", 0, 0, '7', '', '', -1), (" + std::to_string(kDay) +
      ", 0, 0, '7', '', '', 1)");
  count_all();
  while (store_->rollups.fill_step() != FillStep::done) continue;
  EXPECT_THAT(differences(), IsEmpty());
  expect_numbers(all(), {.sent = 1, .cost = 545});
}

// covers: NUM-5
TEST_P(ReportTest, AFillThatAnotherDaemonHasOvertakenChangesNothing) {
  send_one();
  count_all();
  sql("DELETE FROM store_metadata WHERE name = 'gift_rollup_filled'");
  store::Store other(address());
  bool is_first = true;
  const auto let_other_fill = [&] {
    if (std::exchange(is_first, false))
      while (other.rollups.fill_step() != FillStep::done) continue;
    return true;
  };
  EXPECT_EQ(store_->rollups.fill_step(let_other_fill), FillStep::again);
  EXPECT_TRUE(store_->rollups.progress().is_whole);
}

// covers: NUM-2, NUM-3
TEST_P(ReportTest, AnErasedCampaignCountsAsErasedAndItsNameIsGone) {
  for (const bool is_counted : {true, false}) {
    SCOPED_TRACE(is_counted);
    const std::string campaign = "for ada@example.com";
    const std::vector<TransactionId> gifts = send(request(campaign, 2));
    accept(gifts.front(), Status::opened, 1'000);
    count_all();
    if (!is_counted) forget_counts();
    const store::PersonText text{"gift_request", "utm_campaign_id",
                                 scalar("SELECT cast(max(id) AS TEXT) FROM gift_request"), campaign};
    EXPECT_EQ(store_->person_traces.erase_texts(std::span(&text, 1), "ada@example.com", "erased"), 1);
    EXPECT_EQ(store_->person_traces.erase_texts(std::span(&text, 1), "ada@example.com", "erased"), 1);
    while (store_->rollups.add_deltas() > 0) continue;
    while (store_->rollups.fill_step() != FillStep::done) continue;
    EXPECT_THAT(differences(), IsEmpty());
    const std::int64_t gifts_made = is_counted ? 2 : 4;
    const auto campaigns = by(RollupDimension::campaign);
    ASSERT_THAT(campaigns, SizeIs(1));
    expect_numbers(campaigns.at("=erased"),
                   {.sent = gifts_made, .opened = gifts_made / 2, .cost = gifts_made * 545});
    EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM gift_rollup WHERE key LIKE '%ada%'"), "0");
  }
}

// covers: NUM-5
TEST_P(ReportTest, ACheckFindsEachNumberThatIsWrongAndARepairCorrectsThem) {
  const TransactionId gift = send_one("autumn");
  count_all();
  sql("UPDATE gift_rollup SET opened = 4 WHERE dimension = 3 AND key = '=autumn'");
  sql("INSERT INTO gift_rollup SELECT dimension, day + 9, organization_id, key, sent, delivered, "
      "undelivered, "
      "opened, redeemed, donated, expired, refunded, cost, refunded_cost, redeem_seconds, redeemed_1h, "
      "redeemed_6h, redeemed_1d, redeemed_3d, redeemed_7d, redeemed_14d, redeemed_30d, redeemed_later FROM "
      "gift_rollup WHERE dimension = 0");
  accept(gift, Status::delivered, 1'000);
  fold_all(*store_);  // a difference that waits is none that is wrong
  const auto found = differences();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].day, kDay + 9);
  EXPECT_EQ(found[0].gifts[Measure::sent], 0);
  EXPECT_EQ(found[1].day, kDay);
  EXPECT_EQ(found[1].dimension, RollupDimension::campaign);
  EXPECT_EQ(found[1].key, "=autumn");
  EXPECT_EQ(found[1].counted[Measure::opened], 4);
  EXPECT_EQ(found[1].gifts[Measure::opened], 0);
  EXPECT_THAT(store_->rollups.repair(kDay), SizeIs(1));
  EXPECT_THAT(store_->rollups.repair(kDay + 9), SizeIs(1));
  EXPECT_THAT(differences(), IsEmpty());
  count_all();
  EXPECT_THAT(differences(), IsEmpty());
  expect_numbers(all(), {.sent = 1, .cost = 545});
}

// covers: NUM-5
TEST_P(ReportTest, RepairsBesideWritersChangeNothingThatIsRight) {
  std::vector<TransactionId> gifts = send(request("autumn", 30));
  std::atomic<bool> is_ended = false;
  std::thread daemon([&] {
    store::Store store(address());
    while (!is_ended) {
      FoldPlace place;
      fold_step(store, place, kLater);
      store.rollups.add_deltas();
    }
  });
  std::thread repairing([&] {
    store::Store store(address());
    while (!is_ended) {
      try {
        EXPECT_THAT(store.rollups.repair(kDay), IsEmpty());
      } catch (const DependencyError&) {
        // Too many changes meanwhile.
      }
    }
  });
  for (const TransactionId gift : gifts) {
    accept(gift, Status::opened, 1'000);
    send_one("c" + std::to_string(gift.value));
  }
  is_ended = true;
  daemon.join();
  repairing.join();
  count_all();
  EXPECT_THAT(differences(), IsEmpty());
  expect_numbers(all(), {.sent = 60, .opened = 30, .cost = 60 * 545});
}

// covers: NUM-6
TEST_P(ReportTest, AChangeIsFoldedWithoutTheCrm) {
  const TransactionId gift = send_one();
  accept(gift, Status::opened, 1'000);
  FoldPlace place;
  EXPECT_EQ(fold_step(*store_, place, kSentAt).reached, ReachedCounts{}) << "the sync has time for it";
  FoldStepStats stats = fold_step(*store_, place, kSentAt + 1'000);
  EXPECT_EQ(stats.reached[static_cast<std::size_t>(Status::opened)], 1U);
  EXPECT_EQ(store_->gifts.find(std::span(&gift, 1)).front().transaction.status, Status::opened);
  stats = fold_step(*store_, place, kLater);
  EXPECT_EQ(stats.reached, ReachedCounts{});
  // The CRM still lacks it, and the sync need not fold it again, until another change comes.
  auto claims = store_->sync.claim("test", 1, 10, kLater);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_TRUE(claims[0].is_folded);
  accept(gift, Status::redeemed, 2'000);
  store_->sync.release_leases({"test"});
  claims = store_->sync.claim("test", 60'000, 10, kLater);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_FALSE(claims[0].is_folded);
  fold_all(*store_);
  EXPECT_EQ(store_->gifts.find(std::span(&gift, 1)).front().transaction.status, Status::redeemed);
}

// covers: NUM-6
TEST_P(ReportTest, BesideAFormerDaemonTheSyncFoldsAGiftAgain) {
  const TransactionId gift = send_one();
  accept(gift, Status::opened, 1'000);
  insert_former_daemon();
  fold_all(*store_);
  const auto claims = store_->sync.claim("test", 60'000, 10, kLater);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_FALSE(claims[0].is_folded) << "that daemon adds changes without saying so";
}

// covers: NUM-6
TEST_P(ReportTest, WhatTheSyncHasPutOffIsReadOnce) {
  const TransactionId gift = send_one();
  accept(gift, Status::opened, 1'000);
  const auto claims = store_->sync.claim("test", 60'000, 10, kLater);
  ASSERT_THAT(claims, SizeIs(1));
  store::SyncClose close;
  close.claim = claims[0];
  close.done = false;
  close.retry_at = kLater + kDayMillis;
  close.error = "no calls are left";
  store_->sync.close("test", std::span(&close, 1));
  const std::string to_fold = "SELECT cast(count(*) AS TEXT) FROM crm_outbox WHERE to_fold = 1";
  EXPECT_EQ(scalar(to_fold), "1");
  fold_all(*store_);
  EXPECT_EQ(scalar(to_fold), "0");
  EXPECT_EQ(store_->gifts.find(std::span(&gift, 1)).front().transaction.status, Status::opened);
}

// covers: NUM-6
TEST_P(ReportTest, AGiftInOtherHandsIsFoldedLater) {
  if (dialect() == sql::Dialect::sqlite) GTEST_SKIP() << "a transaction is alone";
  const TransactionId gift = send_one();
  accept(gift, Status::opened, 1'000);
  const auto status = [&] { return store_->gifts.find(std::span(&gift, 1)).front().transaction.status; };
  plain_sql_->write([&](soci::session& session) {
    session << "SELECT 1 FROM recipient_transaction WHERE id = " + std::to_string(gift.value) + " FOR UPDATE";
    fold_all(*store_);
    EXPECT_EQ(status(), Status::sent) << "nothing waits for it";
  });
  fold_all(*store_);
  EXPECT_EQ(status(), Status::opened);
}

// covers: NUM-7
TEST_P(ReportTest, AReportHasTheRowsOfThePeriodTheirNamesAndTheirTotal) {
  store::Account ana;  // of the other gifts
  ana.email = "ana@example.com";
  store_->accounts.create(ana);
  store::Account rose;
  rose.email = "rose@example.com";
  const AccountId account = *store_->accounts.create(rose);
  store::NewGiftRequest autumn = request("autumn", 3);
  autumn.request.account = account;
  const std::vector<TransactionId> gifts = send(autumn);
  send_one("spring");
  send_one();
  store::NewGiftRequest before = request("autumn");
  before.request.created_at = kSentAt - 40 * kDayMillis;
  send(before);
  accept(gifts[0], Status::redeemed, 1'800'000);
  count_all();
  ReportQuestion question{.by = ReportBy::campaign, .first_day = kDay - 5, .last_day = kDay};
  Report made = report(store_->rollups, question);
  ASSERT_THAT(made.rows, SizeIs(3));
  EXPECT_EQ(made.rows[0].name, "autumn");
  expect_numbers(made.rows[0].numbers, {.sent = 3, .redeemed = 1, .cost = 3 * 545});
  EXPECT_EQ(median_redeem_seconds(made.rows[0].numbers), 1'800);
  EXPECT_EQ(made.rows[1].kind, ReportRow::Kind::none);
  EXPECT_EQ(made.rows[2].name, "spring");
  expect_numbers(made.total, {.sent = 5, .redeemed = 1, .cost = 5 * 545});
  EXPECT_TRUE(made.progress.is_whole);
  question.max_rows = 1;
  made = report(store_->rollups, question);
  ASSERT_THAT(made.rows, SizeIs(2));
  EXPECT_EQ(made.rows[1].kind, ReportRow::Kind::other);
  EXPECT_EQ(made.rows[1].numbers[Measure::sent], 2);
  question = {.by = ReportBy::account, .first_day = kDay, .last_day = kDay};
  made = report(store_->rollups, question);
  EXPECT_EQ(made.rows.front().name, "rose@example.com");
  EXPECT_EQ(made.rows.front().numbers[Measure::sent], 3);
  question = {.by = ReportBy::month,
              .first_day = kDay - 60,
              .last_day = kDay,
              .part = ReportPart{RollupDimension::campaign, "=autumn"}};
  made = report(store_->rollups, question);
  ASSERT_THAT(made.rows, SizeIs(2));
  EXPECT_EQ(made.rows[0].name, "2026-12");
  EXPECT_EQ(made.rows[1].name, "2027-01");
  EXPECT_EQ(made.rows[1].numbers[Measure::sent], 3);
  EXPECT_FALSE(can_report(ReportBy::item, question.part)) << "each dimension is counted alone";
  EXPECT_TRUE(can_report(ReportBy::campaign, question.part));
}

// covers: NUM-8
TEST_P(ReportTest, TheOverviewHasEachDayAndThePeriodBefore) {
  for (const int day : {-3, -1, 0}) {
    store::NewGiftRequest asked = request("", 2);
    asked.request.created_at = kSentAt + day * kDayMillis;
    accept(send(asked).front(), Status::opened, 5 * kDayMillis);
  }
  count_all();
  const Overview made = overview(store_->rollups, {.first_day = kDay - 2, .last_day = kDay});
  expect_numbers(made.period, {.sent = 4, .opened = 2, .cost = 4 * 545});
  expect_numbers(made.before, {.sent = 2, .opened = 1, .cost = 2 * 545});
  ASSERT_THAT(made.days, SizeIs(3));
  EXPECT_EQ(made.days[0].day, kDay - 2);
  EXPECT_TRUE(made.days[0].numbers.empty());
  EXPECT_EQ(made.days[1].numbers[Measure::opened], 1) << "a gift counts on its day of sending";
}

// covers: NUM-7
TEST_P(ReportTest, ReportsReadTheRowsOfTheirDaysAlone) {
  const std::string rows = dialect() == sql::Dialect::sqlite
                               ? "USING PRIMARY KEY (dimension=? AND day>? AND day<?)"
                               : "gift_rollup_pkey";
  for (const char* more : {"", " AND organization_id = 3", " AND key = '=autumn'"}) {
    const std::string plan =
        tests::plan_of(*plain_sql_,
                       "SELECT key, sum(sent) FROM gift_rollup WHERE dimension = 3 AND day >= "
                       "20000 AND day <= 20365" +
                           std::string(more) + " GROUP BY key");
    EXPECT_THAT(plan, testing::HasSubstr(rows));
    EXPECT_THAT(plan, testing::Not(testing::HasSubstr("recipient_transaction")));
  }
}

}  // namespace
}  // namespace giftsync::sync
