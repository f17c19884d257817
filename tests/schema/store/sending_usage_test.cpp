// What requests count in budgets, and that a limit holds, on each back end.
#include "schema/store/gift/sending_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "schema/sql/database.h"
#include "schema/store/gift/gift_requests.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CreateOutcome::Kind;

constexpr UtcMillis kDayBegins{1'799'971'200'000};  // the day of kSentAt
const std::string kDay = "2027-01-15";
const std::string kMonth = "2027-01";

class SendingUsageTest : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    store_->gifts.set_sending_charge([this](const GiftRequest& request) {
      SendingCharge charge{kDay, {}};
      for (UsageLimit limit : limits_) {
        if (limit.kind == BudgetKind::account)
          limit.scope = usage_scope(BudgetKind::account, request.account.value);
        charge.limits.push_back(limit);
      }
      return charge;
    });
  }

  static UsageLimit limit(BudgetKind kind, const std::string& period, BudgetLimits limits) {
    return {period, usage_scope(kind, 1), kind, limits, kDayBegins, kDayBegins + kDayMillis};
  }
  static UsageLimit burst(std::int64_t gifts) {
    return {"burst:10:3", "gsk_live_abc", std::nullopt, {gifts, {}}, kSentAt, kSentAt + 600'000};
  }
  static NewGiftRequest request(std::size_t gifts, std::optional<Money> price = Money{500}) {
    NewGiftRequest request = request_for(gifts);
    request.request.costs.item = price;
    return request;
  }
  CreateOutcome create(const NewGiftRequest& request) {
    return store_->gifts.create(std::span(&request, 1)).front();
  }
  Usage usage(const UsageLimit& limit) { return store_->sending_usage.find(std::span(&limit, 1)).front(); }
  void fold(TransactionId id, Status status) {
    const Gift gift = store_->gifts.find(std::span(&id, 1)).front();
    const FoldedState state{id, gift.transaction.version, status, gift.transaction.times, false,
                            {}, gift.transaction.status};
    EXPECT_THAT(store_->sync.save_folded(std::span(&state, 1)), ElementsAre(id));
  }
  void insert_key(const std::string& prefix) {
    Account account;
    account.email = "ana@example.com";
    Credential key;
    key.account = *store_->accounts.create(account);
    key.prefix = prefix;
    key.hash = prefix;
    store_->credentials.insert(key);
  }

  std::vector<UsageLimit> limits_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SendingUsageTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: GUARD-12
TEST_P(SendingUsageTest, ARequestIsRefusedExactlyWhenItDoesNotFitBehindTheOthers) {
  limits_ = {limit(BudgetKind::account, kDay, {5, {}})};
  const std::vector<NewGiftRequest> requests{request(3), request(3), request(2), request(1)};
  std::vector<Kind> kinds;
  for (const CreateOutcome& outcome : store_->gifts.create(requests)) kinds.push_back(outcome.kind);
  EXPECT_THAT(kinds, ElementsAre(Kind::created, Kind::refused, Kind::created, Kind::refused));
  EXPECT_EQ(usage(limits_[0]).gifts, 5);
  EXPECT_EQ(usage(limits_[0]).amount, Money{2500});
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM recipient_transaction"), "5");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM mail_outbox"), "5");
}

// covers: GUARD-9
TEST_P(SendingUsageTest, MoneyIsCountedToTheCentAndAnUnknownCostIsRefused) {
  limits_ = {limit(BudgetKind::installation, kMonth, {{}, Money{1000}})};
  limits_[0].scope = usage_scope(BudgetKind::installation);
  EXPECT_EQ(create(request(1, Money{999})).kind, Kind::created);
  const CreateOutcome refused = create(request(1, Money{2}));
  ASSERT_EQ(refused.kind, Kind::refused);
  ASSERT_THAT(refused.exceeded, SizeIs(1));
  EXPECT_EQ(refused.exceeded[0].used.amount, Money{999});
  EXPECT_EQ(refused.exceeded[0].price, Money{2});
  EXPECT_EQ(create(request(1, Money{1})).kind, Kind::created);
  const CreateOutcome unknown = create(request(1, std::nullopt));
  ASSERT_EQ(unknown.kind, Kind::refused);
  EXPECT_TRUE(unknown.exceeded[0].is_cost_unknown());
}

// covers: GUARD-10
TEST_P(SendingUsageTest, ARefusedRequestLeavesItsIdempotencyKeyFree) {
  limits_ = {limit(BudgetKind::account, kDay, {1, {}})};
  NewGiftRequest keyed = request(2);
  keyed.idempotency = {"key", "hash"};
  EXPECT_EQ(create(keyed).kind, Kind::refused);
  EXPECT_EQ(store_->gifts.find_idempotent({1}, SendMode::email, *keyed.idempotency), std::nullopt);
  limits_[0].limits.gifts = 2;
  EXPECT_EQ(create(keyed).kind, Kind::created);
  EXPECT_EQ(create(keyed).kind, Kind::replayed) << "a repeat does not count";
  EXPECT_EQ(usage(limits_[0]).gifts, 2);
}

// covers: GUARD-11
TEST_P(SendingUsageTest, ARefundCountsNoMoreAndAVoidedOneCountsAgain) {
  limits_ = {limit(BudgetKind::account, kDay, {1, {}}), limit(BudgetKind::account, kMonth, {10, {}})};
  const TransactionId id = create(request(1)).recipients.front().id;
  EXPECT_EQ(create(request(1)).kind, Kind::refused);
  fold(id, Status::refunded);
  EXPECT_EQ(store_->sending_usage.apply_adjustments(), 1u);
  EXPECT_EQ(store_->sending_usage.apply_adjustments(), 0u);
  EXPECT_EQ(usage(limits_[0]).gifts, 0);
  EXPECT_EQ(usage(limits_[1]).amount, Money{0});
  EXPECT_EQ(create(request(1)).kind, Kind::created);
  fold(id, Status::expired);
  store_->sending_usage.apply_adjustments();
  EXPECT_EQ(usage(limits_[0]).gifts, 2) << "also beyond the limit";
  EXPECT_THAT(store_->sending_usage.check(limits_), IsEmpty());
}

// covers: GUARD-13
TEST_P(SendingUsageTest, ALimitThatBeginsWithinAPeriodCountsWhatWasRequestedBefore) {
  const TransactionId refunded = create(request(1)).recipients.front().id;
  create(request(3));
  NewGiftRequest other = request(4);
  other.request.account = {2};
  create(other);
  fold(refunded, Status::refunded);  // not counted yet
  limits_ = {limit(BudgetKind::account, kDay, {4, {}})};
  EXPECT_TRUE(store_->sending_usage.count(limits_));
  EXPECT_EQ(create(request(2)).kind, Kind::refused);
  EXPECT_EQ(usage(limits_[0]).gifts, 4) << "the refund of before counts with the adjustment";
  store_->sending_usage.apply_adjustments();
  EXPECT_EQ(usage(limits_[0]).gifts, 3);
  EXPECT_EQ(create(request(1)).kind, Kind::created);
  EXPECT_THAT(store_->sending_usage.check(limits_), IsEmpty());
  EXPECT_EQ(store_->sending_usage.find_period(kDay).at("account:2").gifts, 4);
}

TEST_P(SendingUsageTest, CountingAnewFindsWhatWasRequestedWithoutALimit) {
  limits_ = {limit(BudgetKind::account, kDay, {9, {}})};
  create(request(1));
  const std::vector<UsageLimit> counted = std::exchange(limits_, {});
  create(request(5));
  EXPECT_THAT(store_->sending_usage.check(counted), SizeIs(1));
  EXPECT_TRUE(store_->sending_usage.count(counted));
  EXPECT_THAT(store_->sending_usage.check(counted), IsEmpty());
  EXPECT_EQ(usage(counted[0]).gifts, 6);
  sql("UPDATE sending_usage SET gifts = 99 WHERE id LIKE '%:1'");
  store_->sending_usage.count(counted);
  EXPECT_EQ(usage(counted[0]).gifts, 6) << "what is too much is taken away";
}

// covers: GUARD-13
TEST_P(SendingUsageTest, ARequestCountsNothingOfBeforeAndACountThatWasEndedBeginsAgain) {
  create(request(3));
  limits_ = {limit(BudgetKind::account, kMonth, {9, {}})};
  create(request(1));
  EXPECT_EQ(usage(limits_[0]).gifts, 1);
  EXPECT_THAT(store_->sending_usage.find_uncounted(limits_), SizeIs(1));
  int days = 0;
  EXPECT_FALSE(store_->sending_usage.count(limits_, [&] { return ++days < 20; }));
  EXPECT_EQ(days, 20);
  EXPECT_EQ(usage(limits_[0]).gifts, 1);
  EXPECT_THAT(store_->sending_usage.find_uncounted(limits_), SizeIs(1));
  EXPECT_TRUE(store_->sending_usage.count(limits_));
  EXPECT_EQ(usage(limits_[0]).gifts, 4);
  EXPECT_THAT(store_->sending_usage.find_uncounted(limits_), IsEmpty());
}

// covers: GUARD-13
TEST_P(SendingUsageTest, AccountsThatRequestForTheFirstTimeDoNotKeepACountFromItsEnd) {
  create(request(3));
  const std::vector<UsageLimit> counted{limit(BudgetKind::account, kDay, {9, {}})};
  std::int64_t asked = 0;
  EXPECT_TRUE(store_->sending_usage.count(counted, [&] {
    NewGiftRequest first = request(1);
    first.request.account = {10 + ++asked};
    create(first);
    return true;
  }));
  EXPECT_EQ(asked, 4) << "two reads of one day";
  EXPECT_EQ(usage(counted[0]).gifts, 3);
  EXPECT_TRUE(store_->sending_usage.count(counted));
  EXPECT_THAT(store_->sending_usage.check(counted), IsEmpty());
}

// covers: GUARD-11
TEST_P(SendingUsageTest, ARefundThatIsAppliedWhileTheGiftsAreReadCountsOnce) {
  limits_ = {limit(BudgetKind::account, kMonth, {9, {}})};
  const TransactionId id = create(request(1)).recipients.front().id;
  create(request(4));
  sql("UPDATE sending_usage SET gifts = 0");
  fold(id, Status::refunded);
  int asked = 0;
  EXPECT_TRUE(store_->sending_usage.count(limits_, [&] {
    if (++asked == 20) {
      EXPECT_EQ(store_->sending_usage.apply_adjustments(), 1u);
    }
    return true;
  }));
  EXPECT_EQ(usage(limits_[0]).gifts, 4);
  EXPECT_THAT(store_->sending_usage.check(limits_), IsEmpty());
}

// covers: GUARD-13
TEST_P(SendingUsageTest, AGiftCountsInTheDayOfItsRequestWhateverTheClockSaidAtItsSending) {
  limits_ = {limit(BudgetKind::account, kDay, {9, {}}), limit(BudgetKind::account, kMonth, {9, {}})};
  NewGiftRequest asked = request(2);
  asked.request.created_at = kSentAt + 400 * kDayMillis;
  create(asked);
  EXPECT_THAT(store_->sending_usage.check(limits_), IsEmpty());
  store_->sending_usage.count(limits_);
  EXPECT_EQ(usage(limits_[0]).gifts, 2);
  EXPECT_EQ(usage(limits_[1]).gifts, 2);
}

// covers: GUARD-15
TEST_P(SendingUsageTest, ABurstPausesTheKeyOnceAndNothingSmallerPassesBehindIt) {
  insert_key("gsk_live_abc");
  limits_ = {burst(10)};
  EXPECT_EQ(create(request(8)).kind, Kind::created);
  const CreateOutcome refused = create(request(3));
  ASSERT_EQ(refused.kind, Kind::refused);
  EXPECT_TRUE(refused.exceeded[0].is_new_pause);
  const CreateOutcome smaller = create(request(1));
  ASSERT_EQ(smaller.kind, Kind::refused);
  EXPECT_FALSE(smaller.exceeded[0].is_new_pause);
  ASSERT_THAT(store_->credentials.list_paused(kSentAt), SizeIs(1));
  EXPECT_EQ(store_->credentials.list_paused(kSentAt)[0].pause_reason, "more than 10 gifts in 10 minutes");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM audit_event WHERE action = 'key.pause'"), "1");
  store_->sending_usage.forget_bursts("gsk_live_abc");
  EXPECT_EQ(create(request(1)).kind, Kind::created);
}

// covers: GUARD-15
TEST_P(SendingUsageTest, ABurstOfAKeyIsAuditedForTheAdminsOfItsOrganization) {
  insert_key("gsk_live_abc");
  Credential token;
  token.kind = CredentialKind::organization_token;
  token.prefix = "got_live_abc";
  token.hash = "hash";
  const auto edge = store_->organizations.create("Edge", token);
  ASSERT_TRUE(edge);
  sql("UPDATE account SET organization_id = " + std::to_string(edge->value) +
      " WHERE email = 'ana@example.com'");
  limits_ = {burst(1)};
  EXPECT_EQ(create(request(2)).kind, Kind::refused);
  Viewer viewer;
  viewer.roles = {Role::admin};
  viewer.organization = edge;
  const auto events = store_->audit.list(viewer, {.action = "key.pause"}, 10);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].object_id, "gsk_live_abc");
  EXPECT_EQ(events[0].organization, edge);
}

// covers: GUARD-15
TEST_P(SendingUsageTest, ABurstOfATokenIsAuditedAtItsOrganization) {
  Credential token;
  token.kind = CredentialKind::organization_token;
  token.prefix = "gsk_live_abc";
  token.hash = "hash";
  const auto edge = store_->organizations.create("Edge", token);
  limits_ = {burst(1)};
  EXPECT_EQ(create(request(2)).kind, Kind::refused);
  const auto events =
      store_->audit.list(Viewer::of_command_line(), {.action = "organization.pause-token"}, 10);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].object_id, "Edge");
  EXPECT_EQ(events[0].organization, edge);
  EXPECT_EQ(events[0].detail, "token gsk_live_abc: more than 1 gifts in 10 minutes");
}

TEST_P(SendingUsageTest, OldDaysAndWindowsAreDeletedAndMonthsStay) {
  for (const std::string period : {"2025-12-31", "2025-12", "2026-01-01"}) {
    limits_ = {limit(BudgetKind::account, period, {9, {}})};
    create(request(1));
  }
  const std::string now = scalar("SELECT cast(" + std::string(sql::database_now(dialect())) + " AS TEXT)");
  UsageLimit current = burst(100);
  current.period = "burst:" + std::to_string(std::stoll(now) - kDayMillis) + ":1440";
  UsageLimit old = burst(100);
  old.period = "burst:" + std::to_string(std::stoll(now) - 3 * kDayMillis) + ":10";
  limits_ = {current, old};
  create(request(1));
  store_->sending_usage.prune("2026-01-01");
  EXPECT_EQ(usage(current).gifts, 1) << "of a daemon with other settings";
  EXPECT_EQ(usage(old).gifts, 0);
  EXPECT_THAT(store_->sending_usage.find_period("2025-12-31"), IsEmpty());
  EXPECT_THAT(store_->sending_usage.find_period("2025-12"), SizeIs(1));
  EXPECT_THAT(store_->sending_usage.find_period("2026-01-01"), SizeIs(1));
}

TEST_P(SendingUsageTest, AnAdminsBudgetReplacesAndChangesTheRevision) {
  SendingBudget budget{"account:1", 5, {}, {}, Money{700}, kSentAt, "root"};
  const std::string before = store_->sending_usage.revision();
  store_->sending_usage.set(budget, {});
  budget.day_gifts = 6;
  store_->sending_usage.set(budget, {});
  ASSERT_THAT(store_->sending_usage.budgets(), SizeIs(1));
  EXPECT_EQ(store_->sending_usage.budgets()[0].day_gifts, 6);
  EXPECT_EQ(store_->sending_usage.budgets()[0].month_amount, Money{700});
  EXPECT_NE(store_->sending_usage.revision(), before);
  EXPECT_TRUE(store_->sending_usage.unset("account:1", {}));
  EXPECT_FALSE(store_->sending_usage.unset("account:1", {}));
  EXPECT_THAT(store_->sending_usage.budgets(), IsEmpty());
}

// covers: GUARD-12
TEST_P(SendingUsageTest, WhatAnotherDaemonCountsMeanwhileIsSeenBeforeTheCommit) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "SQLite has one writer at a time";
  limits_ = {limit(BudgetKind::account, kDay, {10, {}}),
             limit(BudgetKind::account, kMonth, {{}, Money{9'000}})};
  Store other(address());
  const auto charge_of = [this](const GiftRequest&) {
    SendingCharge charge{kDay, limits_};
    for (UsageLimit& limit : charge.limits) limit.scope = usage_scope(BudgetKind::account, 3);
    return charge;
  };
  store_->gifts.set_sending_charge(charge_of);
  other.gifts.set_sending_charge(charge_of);
  // A warning is made once a request is decided: the other daemon's request commits then.
  store_->gifts.set_frequency_rule({.gifts = 1, .refuses = false});
  const NewGiftRequest first = request(1);
  ASSERT_EQ(other.gifts.create(std::span(&first, 1)).front().kind, Kind::created);
  const auto create_after = [&](NewGiftRequest asked, const NewGiftRequest& meanwhile) {
    int runs = 0;
    asked.warnings_with_recent = [&](const std::vector<RecentRecipient>&) {
      if (++runs > 1) return "[]";
      EXPECT_EQ(other.gifts.create(std::span(&meanwhile, 1)).front().kind, Kind::created);
      return "[]";
    };
    return std::pair(create(asked).kind, runs);
  };
  EXPECT_EQ(create_after(request(2), request(2)), std::pair(Kind::created, 1)) << "both fit";
  EXPECT_EQ(create_after(request(4), request(2)), std::pair(Kind::refused, 1)) << "4 do not fit behind 7";
  EXPECT_EQ(create_after(request(1, Money{5'500}), request(1)), std::pair(Kind::refused, 1)) << "90.00";
  EXPECT_EQ(scalar("SELECT cast(gifts AS TEXT) || ' ' || cast(amount AS TEXT) FROM sending_usage WHERE id = "
                   "'" +
                   limits_[0].period + " account:3'"),
            "8 4000");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM recipient_transaction"), "8");
}

// Eight threads of two stores, as two daemons, while both count again: what is counted is what the gifts are,
// and no limit was passed.
TEST_P(SendingUsageTest, CallersOfTwoDaemonsTogetherPassNoLimit) {
  limits_ = {limit(BudgetKind::account, kDay, {150, {}}),
             limit(BudgetKind::account, kMonth, {{}, Money{99'000}}),
             limit(BudgetKind::installation, kDay, {200, {}})};
  limits_[2].scope = usage_scope(BudgetKind::installation);
  Store other(address());
  other.gifts.set_sending_charge([this](const GiftRequest& request) {
    SendingCharge charge{kDay, limits_};
    for (UsageLimit& limit : charge.limits) {
      if (limit.kind == BudgetKind::account)
        limit.scope = usage_scope(BudgetKind::account, request.account.value);
    }
    return charge;
  });
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> created{0};
  for (unsigned caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937 random(caller);
      GiftRequests& gifts = caller % 2 ? other.gifts : store_->gifts;
      for (int call = 0; call < 25; ++call) {
        NewGiftRequest asked = request(1 + random() % 3);
        asked.request.account = {1 + static_cast<std::int64_t>(random() % 2)};
        const CreateOutcome outcome = gifts.create(std::span(&asked, 1)).front();
        if (outcome.kind == Kind::created) created += static_cast<std::int64_t>(outcome.recipients.size());
        EXPECT_TRUE(outcome.kind == Kind::created || outcome.kind == Kind::refused) << outcome.error;
      }
    });
  }
  for (Store* store : {store_.get(), &other})
    callers.emplace_back([this, store] {
      for (int round = 0; round < 20; ++round) store->sending_usage.count(limits_);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(created, usage(limits_[2]).gifts);
  EXPECT_GE(created, 198) << "a request of one gift fits until the end";
  EXPECT_LE(created, 200);
  EXPECT_THAT(store_->sending_usage.check(limits_), IsEmpty());
}

}  // namespace
}  // namespace giftsync::store
