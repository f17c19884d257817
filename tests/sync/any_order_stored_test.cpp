// The promise of design 3.1 through the real store: the same changes, in any order, repeated, split over
// batches and restarts, voided and restored anywhere, give the identical record and the identical history.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"
#include "sync/status_facts.h"
#include "sync/status_rules.h"
#include "sync/sync_step.h"
#include "tests/schema/store_ground.h"
#include "tests/sync/random_changes.h"

namespace giftsync::sync {
namespace {

using namespace schema;

class AnyOrderStored : public StoreGround {
 protected:
  static constexpr std::size_t kCopies = 4;

  void SetUp() override {
    StoreGround::SetUp();
    if (IsSkipped()) return;
    migrate_managed_crm(database_->address());
    rules_.link_of = [](const RecipientTransaction&) { return "https://gifts.test/g"; };
    for (auto* person : {&rules_.match_fields.contact, &rules_.match_fields.lead}) {
      person->email_fields = {"Email"};
      person->order_by = {"LastModifiedDate", true};
    }
    rules_.match_fields.default_region = "US";
    restart();
  }
  void TearDown() override {
    crm_.reset();
    StoreGround::TearDown();
  }

  void restart() {
    store_ = std::make_unique<Store>(database_->address());
    crm_ = make_sql_crm({database_->address(), "giftsync", rules_.match_fields});
  }
  std::vector<TransactionId> send(std::size_t count) {
    NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.created_at = kSent;
    for (std::size_t i = 0; i < count; ++i)
      request.recipients.push_back({"ada@example.com", "", "", "Thanks"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& made : outcomes.front().recipients) ids.push_back(made.id);
    return ids;
  }
  void sync() {
    while (sync_step(*store_, *crm_, rules_, {"test", 60'000}, kSent + 100).claimed > 0) continue;
  }
  /// Everything of a gift that must not depend on how its changes came.
  struct Told {
    std::vector<std::string> history;
    std::vector<std::string> record;
    FoldedStatus state;
    friend bool operator==(const Told&, const Told&) = default;
  };
  Told tell(TransactionId id) {
    Told told;
    const std::vector<StatusChange> history = store_->changes.history(id);
    for (const StatusChange& change : history) {
      std::string line = to_rfc3339(change.occurred_at) + " " + std::string(to_word(change.status)) + " " +
                         std::string(to_word(change.premise)) + " " + change.source + ":";
      for (const std::string& event : change.event_ids) line += " " + event;
      if (change.voiding) line += " voided by " + change.voiding->by;
      told.history.push_back(line + " " + contradiction(change, history));
    }
    const GiftRecord record = crm_->gift_records({id.value - 1}, 1).front();
    for (const Status status : kAllStatuses) {
      const auto* time = std::get_if<UtcMillis>(&record.get(time_field_of(status)));
      told.record.push_back(time ? to_rfc3339(*time) : "-");
    }
    told.record.push_back(std::get<std::string>(record.get(GiftField::status)));
    const RecipientTransaction gift = store_->gifts.gifts(std::span(&id, 1)).front().transaction;
    told.state = {gift.status, gift.times, gift.contradictory};
    return told;
  }

  std::unique_ptr<Crm> crm_;
  SyncRules rules_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, AnyOrderStored, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(AnyOrderStored, TheSameRecordAndTheSameHistory) {
  std::mt19937 random(seed());
  constexpr std::size_t kSets = 12;
  std::vector<TransactionId> gifts = send(1);
  // Some changes come before their gifts do and are held.
  const std::int64_t first_late = gifts.front().value + 100'000;
  const auto send_late = [&] {
    store_->gifts.start_transaction_ids_at({first_late});
    return send(kSets * kCopies);
  };
  std::vector<std::vector<StatusChange>> sets(kSets);
  std::vector<StatusChange> stream;
  for (std::size_t set = 0; set < kSets; ++set) {
    for (std::size_t i = random() % 10; i > 0; --i) {
      StatusChange change = random_change(random);
      if (random() % 3) change.event_ids.push_back("e" + std::to_string(random() % 4));
      sets[set].push_back(change);
    }
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      for (StatusChange change : sets[set]) {
        change.transaction = {first_late + static_cast<std::int64_t>(set * kCopies + copy)};
        stream.push_back(change);
      }
    }
  }
  shuffle_with_repeats(stream, random);
  const std::size_t gifts_come_at = stream.size() / 3;
  bool sent = false;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 40, stream.size() - at);
    store_->changes.accept(std::span(stream).subspan(at, size));
    at += size;
    if (!sent && at >= gifts_come_at) {
      sent = true;
      gifts = send_late();
      ASSERT_EQ(gifts.front().value, first_late);
    }
    if (random() % 3 == 0) store_->changes.release_held(kSent + 50);
    if (random() % 3 == 0) sync();
    if (random() % 4 == 0) restart();
  }
  if (!sent) gifts = send_late();
  // One change of each set is voided, in all its copies.
  for (std::size_t set = 0; set < kSets; ++set) {
    if (sets[set].empty()) continue;
    const StatusChange& bad = sets[set].front();
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      for (const StatusChange& change : store_->changes.history(gifts[set * kCopies + copy])) {
        const bool same = change.status == bad.status && change.premise == bad.premise &&
                          change.source == bad.source && change.occurred_at == bad.occurred_at;
        if (!same) continue;
        EXPECT_EQ(store_->changes.void_change(change.id, {kSent + 60, "ana", ""}), VoidOutcome::voided);
      }
    }
  }
  std::shuffle(stream.begin(), stream.end(), random);
  store_->changes.accept(stream);  // everything once more: nothing changes, voided ones stay voided
  restart();
  store_->changes.release_held(kSent + 100);
  sync();
  EXPECT_EQ(store_->changes.count_held(), 0);
  for (std::size_t set = 0; set < kSets; ++set) {
    const Told first = tell(gifts[set * kCopies]);
    const std::vector<StatusChange> history = store_->changes.history(gifts[set * kCopies]);
    EXPECT_EQ(first.state, fold(kSent, history)) << told(static_cast<int>(set));
    EXPECT_EQ(first.record.back(), to_word(first.state.status));
    for (std::size_t copy = 1; copy < kCopies; ++copy) {
      const Told other = tell(gifts[set * kCopies + copy]);
      EXPECT_EQ(other.history, first.history) << told(static_cast<int>(set));
      EXPECT_EQ(other.record, first.record) << told(static_cast<int>(set));
      EXPECT_EQ(other.state, first.state) << told(static_cast<int>(set));
    }
  }
}

TEST_P(AnyOrderStored, WhatIsVoidedAndRestoredAnywhereIsAsIfItHadNeverBeen) {
  std::mt19937 random(seed());
  constexpr std::size_t kPairs = 16;
  const std::int64_t first_late = send(1).front().value + 100'000;
  // Two gifts have the same changes; with the second an admin voids and restores.
  const auto gift_of = [first_late](std::size_t pair, bool reviewed) {
    return TransactionId{first_late + static_cast<std::int64_t>(2 * pair) + (reviewed ? 1 : 0)};
  };
  std::vector<StatusChange> stream;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    for (std::size_t i = random() % 8; i > 0; --i) {
      StatusChange change = random_change(random);
      if (random() % 3) change.event_ids.push_back("e" + std::to_string(random() % 4));
      for (const bool reviewed : {false, true}) {
        change.transaction = gift_of(pair, reviewed);
        stream.push_back(change);
      }
    }
  }
  shuffle_with_repeats(stream, random);
  bool sent = false;
  const auto send_late = [&] {
    store_->gifts.start_transaction_ids_at({first_late});
    ASSERT_EQ(send(2 * kPairs).front().value, first_late);
    sent = true;
  };
  const auto restore = [&](const StatusChange& change) {
    const auto expected = sent ? RestoreOutcome::Kind::restored : RestoreOutcome::Kind::held;
    EXPECT_EQ(store_->changes.restore_change(change.id, {kSent + 60, "bob", ""}).kind, expected)
        << told(static_cast<int>(change.id.value));
  };
  const auto review_some = [&] {
    const auto history = store_->changes.history(gift_of(random() % kPairs, true));
    for (const StatusChange& change : history) {
      if (random() % 2) continue;
      if (change.voiding) {
        restore(change);
      } else {
        EXPECT_EQ(store_->changes.void_change(change.id, {kSent + 60, "ana", ""}), VoidOutcome::voided);
      }
    }
  };
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 12, stream.size() - at);
    store_->changes.accept(std::span(stream).subspan(at, size));
    at += size;
    if (!sent && at >= stream.size() / 3) send_late();
    review_some();
    if (random() % 4 == 0) store_->changes.release_held(kSent + 50);
    if (random() % 4 == 0) sync();
    if (random() % 8 == 0) restart();
  }
  if (!sent) send_late();
  sync();
  store_->changes.accept(stream);  // everything once more, with some of it voided
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    for (const StatusChange& change : store_->changes.history(gift_of(pair, true))) {
      if (change.voiding) restore(change);
    }
  }
  store_->changes.release_held(kSent + 100);
  sync();
  EXPECT_EQ(store_->changes.count_held(), 0);
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const Told left_alone = tell(gift_of(pair, false));
    const Told reviewed = tell(gift_of(pair, true));
    EXPECT_EQ(reviewed.history, left_alone.history) << told(static_cast<int>(pair));
    EXPECT_EQ(reviewed.record, left_alone.record) << told(static_cast<int>(pair));
    EXPECT_EQ(reviewed.state, left_alone.state) << told(static_cast<int>(pair));
  }
}

/// A report of a gift that was sent elsewhere; some tell when it was sent beside something else.
SourceItem random_report(std::mt19937& random) {
  SourceItem item;
  item.change = random_change(random);
  item.change->premise = Premise::none;
  item.change->source = "vendor";
  item.change->origin = "vendor";
  if (random() % 2) {
    item.sent = item.change;
    item.sent->status = Status::sent;
    item.sent->occurred_at = kSent + static_cast<std::int64_t>(random() % 8);
  }
  const StatusChange& told = item.sent ? *item.sent : *item.change;
  if (told.status == Status::sent && random() % 4 > 0) {
    item.gift.emplace();
    item.gift->email = "ada@example.com";
    item.gift->sent_at = told.occurred_at;
  }
  return item;
}

SourceItem about(SourceItem item, TransactionId gift) {
  item.change->transaction = gift;
  if (item.sent) item.sent->transaction = gift;
  if (item.gift) item.gift->id = gift;
  return item;
}

TEST_P(AnyOrderStored, AGiftFromOutsideWasSentWhenTheEarliestReportThatCountsSays) {
  std::mt19937 random(seed());
  constexpr std::size_t kSets = 12;
  const auto gift_of = [](std::size_t set, std::size_t copy) {
    return TransactionId{9'000'000'000 + static_cast<std::int64_t>(set * kCopies + copy)};
  };
  std::vector<SourceItem> stream;
  for (std::size_t set = 0; set < kSets; ++set) {
    std::vector<SourceItem> reports(1 + random() % 8);
    for (SourceItem& one : reports) one = random_report(random);
    while (std::none_of(reports.begin(), reports.end(), [](const SourceItem& one) { return one.gift; }))
      reports.push_back(random_report(random));
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      for (const SourceItem& one : reports) stream.push_back(about(one, gift_of(set, copy)));
    }
  }
  shuffle_with_repeats(stream, random);
  store_->sources.open("vendor", "vendor", kSent);
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 40, stream.size() - at);
    SourceReport page;
    page.source = "vendor";
    page.origin = "vendor";
    page.items.assign(stream.begin() + static_cast<std::ptrdiff_t>(at),
                      stream.begin() + static_cast<std::ptrdiff_t>(at + size));
    page.now = kSent + 10;
    ASSERT_EQ(store_->sources.accept(page).kind, SourceReceipt::Kind::taken);
    at += size;
    if (random() % 3 == 0) sync();
    if (random() % 4 == 0) restart();
  }
  // Of each set the same reports of "sent" are voided in all its copies: none, some or every one of them.
  for (std::size_t set = 0; set < kSets; ++set) {
    const std::int64_t voided_until = kSent.value - 1 + static_cast<std::int64_t>(random() % 9);
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      std::vector<StatusChange> history = store_->changes.history(gift_of(set, copy));
      std::shuffle(history.begin(), history.end(), random);
      for (const StatusChange& change : history) {
        if (change.status != Status::sent || change.occurred_at.value > voided_until) continue;
        EXPECT_EQ(store_->changes.void_change(change.id, {kSent + 60, "ana", ""}), VoidOutcome::voided);
        if (random() % 3 == 0) sync();
      }
    }
  }
  sync();
  for (std::size_t set = 0; set < kSets; ++set) {
    const Told first = tell(gift_of(set, 0));
    std::optional<UtcMillis> counting;
    std::optional<UtcMillis> voided;
    for (const StatusChange& change : store_->changes.history(gift_of(set, 0))) {
      if (change.status != Status::sent) continue;
      std::optional<UtcMillis>& earliest = change.voiding ? voided : counting;
      earliest = earliest ? std::min(*earliest, change.occurred_at) : change.occurred_at;
    }
    const UtcMillis expected = counting ? *counting : voided.value();
    EXPECT_EQ(first.state.times[Status::sent], expected) << told(static_cast<int>(set));
    EXPECT_EQ(first.record.front(), to_rfc3339(expected)) << told(static_cast<int>(set));
    for (std::size_t copy = 1; copy < kCopies; ++copy)
      EXPECT_EQ(tell(gift_of(set, copy)), first) << told(static_cast<int>(set));
  }
}

}  // namespace
}  // namespace giftsync::sync
