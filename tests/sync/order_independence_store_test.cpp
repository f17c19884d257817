// STATUS-4 through the real store: the same changes, in any order, repeated, split over batches and restarts,
// voided and restored at any time, give the identical record and history.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "crm/sql/managed/managed_crm.h"
#include "schema/store/store.h"
#include "sync/crm/sync_step.h"
#include "sync/status/status_rules.h"
#include "tests/support/random_changes.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

class OrderIndependenceStored : public tests::StoreFixture {
 protected:
  static constexpr std::size_t kCopies = 4;

  void SetUp() override {
    tests::StoreFixture::SetUp();
    if (IsSkipped()) return;
    crm::managed::migrate_managed_crm(database_->address());
    rules_.link_of = [](const store::RecipientTransaction&) { return "https://gifts.test/g"; };
    for (auto* person : {&rules_.match_fields.contact, &rules_.match_fields.lead}) {
      person->email_fields = {"Email"};
      person->order_by = {"LastModifiedDate", true};
    }
    rules_.match_fields.default_region = "US";
    restart();
  }
  void TearDown() override {
    crm_.reset();
    tests::StoreFixture::TearDown();
  }

  void restart() {
    store_ = std::make_unique<store::Store>(database_->address());
    crm_ = crm::managed::make_managed_crm({database_->address(), "giftsync", rules_.match_fields});
  }
  std::vector<TransactionId> send(std::size_t count) {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.created_at = tests::kSent;
    for (std::size_t i = 0; i < count; ++i)
      request.recipients.push_back({"ada@example.com", "", "", "Thanks"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& made : outcomes.front().recipients) ids.push_back(made.id);
    return ids;
  }
  void sync() {
    while (sync_step(*store_, *crm_, rules_, {"test", 60'000}, tests::kSent + 100).claimed > 0) continue;
  }
  /// Everything of a gift that must not depend on the order of its changes.
  struct GiftSnapshot {
    std::vector<std::string> history;
    std::vector<std::string> record;
    FoldedStatus state;
    friend bool operator==(const GiftSnapshot&, const GiftSnapshot&) = default;
  };
  GiftSnapshot snapshot(TransactionId id) {
    GiftSnapshot snapshot;
    const std::vector<store::StatusChange> history = store_->changes.history(id);
    for (const store::StatusChange& change : history) {
      std::string line = to_rfc3339(change.occurred_at) + " " + std::string(to_word(change.status)) + " " +
                         std::string(to_word(change.premise)) + " " + change.source + ":";
      for (const std::string& event : change.event_ids) line += " " + event;
      if (change.voiding) line += " voided by " + change.voiding->by;
      snapshot.history.push_back(line + " " + conflict_reason(change, history));
    }
    const GiftRecord record = crm_->gift_records().page({id.value - 1}, 1).front();
    for (const Status status : kAllStatuses) {
      const auto* time = std::get_if<UtcMillis>(&record.get(time_field_of(status)));
      snapshot.record.push_back(time ? to_rfc3339(*time) : "-");
    }
    snapshot.record.push_back(std::get<std::string>(record.get(GiftField::status)));
    const store::RecipientTransaction gift = store_->gifts.find(std::span(&id, 1)).front().transaction;
    snapshot.state = {gift.status, gift.times, gift.has_conflict};
    return snapshot;
  }

  std::unique_ptr<crm::Crm> crm_;
  SyncRules rules_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, OrderIndependenceStored,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(OrderIndependenceStored, AnyOrderGivesSameRecordAndHistory) {
  std::mt19937 random(tests::seed());
  constexpr std::size_t kSets = 12;
  std::vector<TransactionId> gifts = send(1);
  // Some changes arrive before their gifts and are orphaned.
  const std::int64_t first_late = gifts.front().value + 100'000;
  const auto send_late = [&] {
    store_->gifts.start_transaction_ids_at({first_late});
    return send(kSets * kCopies);
  };
  std::vector<std::vector<store::StatusChange>> sets(kSets);
  std::vector<store::StatusChange> stream;
  for (std::size_t set = 0; set < kSets; ++set) {
    for (std::size_t i = random() % 10; i > 0; --i) {
      store::StatusChange change = tests::random_change(random);
      if (random() % 3) change.event_ids.push_back("e" + std::to_string(random() % 4));
      sets[set].push_back(change);
    }
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      for (store::StatusChange change : sets[set]) {
        change.transaction = {first_late + static_cast<std::int64_t>(set * kCopies + copy)};
        stream.push_back(change);
      }
    }
  }
  tests::shuffle_with_repeats(stream, random);
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
    if (random() % 3 == 0) store_->changes.apply_orphaned(tests::kSent + 50);
    if (random() % 3 == 0) sync();
    if (random() % 4 == 0) restart();
  }
  if (!sent) gifts = send_late();
  // One change of each set is voided, in all its copies.
  for (std::size_t set = 0; set < kSets; ++set) {
    if (sets[set].empty()) continue;
    const store::StatusChange& bad = sets[set].front();
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      for (const store::StatusChange& change : store_->changes.history(gifts[set * kCopies + copy])) {
        const bool same = change.status == bad.status && change.premise == bad.premise &&
                          change.source == bad.source && change.occurred_at == bad.occurred_at;
        if (!same) continue;
        EXPECT_EQ(store_->changes.void_change(change.id, {tests::kSent + 60, "ana", ""}),
                  store::VoidOutcome::voided);
      }
    }
  }
  std::shuffle(stream.begin(), stream.end(), random);
  store_->changes.accept(stream);  // everything again: nothing changes, voided changes stay voided
  restart();
  store_->changes.apply_orphaned(tests::kSent + 100);
  sync();
  EXPECT_EQ(store_->changes.count_orphaned(), 0);
  for (std::size_t set = 0; set < kSets; ++set) {
    const GiftSnapshot first = snapshot(gifts[set * kCopies]);
    const std::vector<store::StatusChange> history = store_->changes.history(gifts[set * kCopies]);
    EXPECT_EQ(first.state, fold(tests::kSent, history)) << tests::seed_info(static_cast<int>(set));
    EXPECT_EQ(first.record.back(), to_word(first.state.status));
    for (std::size_t copy = 1; copy < kCopies; ++copy) {
      const GiftSnapshot other = snapshot(gifts[set * kCopies + copy]);
      EXPECT_EQ(other.history, first.history) << tests::seed_info(static_cast<int>(set));
      EXPECT_EQ(other.record, first.record) << tests::seed_info(static_cast<int>(set));
      EXPECT_EQ(other.state, first.state) << tests::seed_info(static_cast<int>(set));
    }
  }
}

TEST_P(OrderIndependenceStored, VoidThenRestoreLeavesNoTrace) {
  std::mt19937 random(tests::seed());
  constexpr std::size_t kPairs = 16;
  const std::int64_t first_late = send(1).front().value + 100'000;
  // Two gifts have the same changes; those of the second are voided and restored.
  const auto gift_of = [first_late](std::size_t pair, bool reviewed) {
    return TransactionId{first_late + static_cast<std::int64_t>(2 * pair) + (reviewed ? 1 : 0)};
  };
  std::vector<store::StatusChange> stream;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    for (std::size_t i = random() % 8; i > 0; --i) {
      store::StatusChange change = tests::random_change(random);
      if (random() % 3) change.event_ids.push_back("e" + std::to_string(random() % 4));
      for (const bool reviewed : {false, true}) {
        change.transaction = gift_of(pair, reviewed);
        stream.push_back(change);
      }
    }
  }
  tests::shuffle_with_repeats(stream, random);
  bool sent = false;
  const auto send_late = [&] {
    store_->gifts.start_transaction_ids_at({first_late});
    ASSERT_EQ(send(2 * kPairs).front().value, first_late);
    sent = true;
  };
  const auto restore = [&](const store::StatusChange& change) {
    const auto expected =
        sent ? store::RestoreOutcome::Kind::restored : store::RestoreOutcome::Kind::orphaned;
    EXPECT_EQ(store_->changes.restore_change(change.id, {tests::kSent + 60, "bob", ""}).kind, expected)
        << tests::seed_info(static_cast<int>(change.id.value));
  };
  const auto review_some = [&] {
    const auto history = store_->changes.history(gift_of(random() % kPairs, true));
    for (const store::StatusChange& change : history) {
      if (random() % 2) continue;
      if (change.voiding) {
        restore(change);
      } else {
        EXPECT_EQ(store_->changes.void_change(change.id, {tests::kSent + 60, "ana", ""}),
                  store::VoidOutcome::voided);
      }
    }
  };
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 12, stream.size() - at);
    store_->changes.accept(std::span(stream).subspan(at, size));
    at += size;
    if (!sent && at >= stream.size() / 3) send_late();
    review_some();
    if (random() % 4 == 0) store_->changes.apply_orphaned(tests::kSent + 50);
    if (random() % 4 == 0) sync();
    if (random() % 8 == 0) restart();
  }
  if (!sent) send_late();
  sync();
  store_->changes.accept(stream);  // everything again, with some of it voided
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    for (const store::StatusChange& change : store_->changes.history(gift_of(pair, true))) {
      if (change.voiding) restore(change);
    }
  }
  store_->changes.apply_orphaned(tests::kSent + 100);
  sync();
  EXPECT_EQ(store_->changes.count_orphaned(), 0);
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const GiftSnapshot left_alone = snapshot(gift_of(pair, false));
    const GiftSnapshot reviewed = snapshot(gift_of(pair, true));
    EXPECT_EQ(reviewed.history, left_alone.history) << tests::seed_info(static_cast<int>(pair));
    EXPECT_EQ(reviewed.record, left_alone.record) << tests::seed_info(static_cast<int>(pair));
    EXPECT_EQ(reviewed.state, left_alone.state) << tests::seed_info(static_cast<int>(pair));
  }
}

/// A change of an external gift; some contain the time of sending too.
store::InboundItem random_report(std::mt19937& random) {
  store::InboundItem item;
  item.change = tests::random_change(random);
  item.change->premise = Premise::none;
  item.change->source = "vendor";
  item.change->gift_source = "vendor";
  if (random() % 2) {
    item.sent = item.change;
    item.sent->status = Status::sent;
    item.sent->occurred_at = tests::kSent + static_cast<std::int64_t>(random() % 8);
  }
  const store::StatusChange& reported = item.sent ? *item.sent : *item.change;
  if (reported.status == Status::sent && random() % 4 > 0) {
    item.gift.emplace();
    item.gift->email = "ada@example.com";
    item.gift->sent_at = reported.occurred_at;
  }
  return item;
}

store::InboundItem about(store::InboundItem item, TransactionId gift) {
  item.change->transaction = gift;
  if (item.sent) item.sent->transaction = gift;
  if (item.gift) item.gift->id = gift;
  return item;
}

// STATUS-30, STATUS-31
TEST_P(OrderIndependenceStored, ExternalGiftSentAtIsEarliestEffectiveReport) {
  std::mt19937 random(tests::seed());
  constexpr std::size_t kSets = 12;
  const auto gift_of = [](std::size_t set, std::size_t copy) {
    return TransactionId{9'000'000'000 + static_cast<std::int64_t>(set * kCopies + copy)};
  };
  std::vector<store::InboundItem> stream;
  for (std::size_t set = 0; set < kSets; ++set) {
    std::vector<store::InboundItem> reports(1 + random() % 8);
    for (store::InboundItem& one : reports) one = random_report(random);
    while (
        std::none_of(reports.begin(), reports.end(), [](const store::InboundItem& one) { return one.gift; }))
      reports.push_back(random_report(random));
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      for (const store::InboundItem& one : reports) stream.push_back(about(one, gift_of(set, copy)));
    }
  }
  tests::shuffle_with_repeats(stream, random);
  store_->sources.open("vendor", "vendor", tests::kSent);
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 40, stream.size() - at);
    store::InboundBatch page;
    page.source = "vendor";
    page.gift_source = "vendor";
    page.items.assign(stream.begin() + static_cast<std::ptrdiff_t>(at),
                      stream.begin() + static_cast<std::ptrdiff_t>(at + size));
    page.now = tests::kSent + 10;
    ASSERT_EQ(store_->sources.accept(page).kind, store::IngestResult::Kind::stored);
    at += size;
    if (random() % 3 == 0) sync();
    if (random() % 4 == 0) restart();
  }
  // In all copies of a set the same "sent" changes are voided: none, some or all.
  for (std::size_t set = 0; set < kSets; ++set) {
    const std::int64_t voided_until = tests::kSent.value - 1 + static_cast<std::int64_t>(random() % 9);
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      std::vector<store::StatusChange> history = store_->changes.history(gift_of(set, copy));
      std::shuffle(history.begin(), history.end(), random);
      for (const store::StatusChange& change : history) {
        if (change.status != Status::sent || change.occurred_at.value > voided_until) continue;
        EXPECT_EQ(store_->changes.void_change(change.id, {tests::kSent + 60, "ana", ""}),
                  store::VoidOutcome::voided);
        if (random() % 3 == 0) sync();
      }
    }
  }
  sync();
  for (std::size_t set = 0; set < kSets; ++set) {
    const GiftSnapshot first = snapshot(gift_of(set, 0));
    std::optional<UtcMillis> counting;
    std::optional<UtcMillis> voided;
    for (const store::StatusChange& change : store_->changes.history(gift_of(set, 0))) {
      if (change.status != Status::sent) continue;
      std::optional<UtcMillis>& earliest = change.voiding ? voided : counting;
      earliest = earliest ? std::min(*earliest, change.occurred_at) : change.occurred_at;
    }
    const UtcMillis expected = counting ? *counting : voided.value();
    EXPECT_EQ(first.state.times[Status::sent], expected) << tests::seed_info(static_cast<int>(set));
    EXPECT_EQ(first.record.front(), to_rfc3339(expected)) << tests::seed_info(static_cast<int>(set));
    for (std::size_t copy = 1; copy < kCopies; ++copy)
      EXPECT_EQ(snapshot(gift_of(set, copy)), first) << tests::seed_info(static_cast<int>(set));
  }
}

}  // namespace
}  // namespace giftsync::sync
