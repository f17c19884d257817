// Gift codes and donations: the effects of an outcome, on both back ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "schema/store/statements/bounded_count.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};
constexpr GiftId kCoffee{7};

class TransactionEffects : public tests::StoreFixture {
 protected:
  std::vector<TransactionId> gifts(std::size_t count) {
    NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = kCoffee;
    request.request.created_at = kNow;
    for (std::size_t i = 0; i < count; ++i)
      request.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  static StatusChange change(TransactionId gift, Status status) {
    return {{}, "page", gift, status, kNow + 5, kNow + 5, {}};
  }
  static bool always(UtcMillis, std::span<const ChangeSpan>) { return true; }
  ConditionalOutcome accept(Store& store, TransactionId gift) {
    return store.changes.accept_if(change(gift, Status::redeemed), always,
                                   store.codes.assign_code(kCoffee, gift, kNow));
  }
  std::int64_t import(const std::vector<std::string>& codes) {
    return store_->codes.import(kCoffee, codes, kNow);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, TransactionEffects,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(TransactionEffects, AssignsCodesOnceInImportOrder) {
  EXPECT_THAT(store_->codes.counts(), IsEmpty());
  EXPECT_EQ(import({"B", "A", "\"quoted\", {x} \\ ☕"}), 3);
  EXPECT_EQ(import({"A", "NEW"}), 1) << "known codes stay";
  const auto ids = gifts(2);
  EXPECT_EQ(accept(*store_, ids[0]), ConditionalOutcome::accepted);
  EXPECT_EQ(accept(*store_, ids[1]), ConditionalOutcome::accepted);
  EXPECT_EQ(store_->codes.find_code(ids[0]), "B");
  EXPECT_EQ(store_->codes.find_code(ids[1]), "A");
  EXPECT_EQ(import({"A", "B"}), 0) << "an issued code does not come back";
  EXPECT_THAT(store_->codes.counts(), ElementsAre(GiftCodeCounts{kCoffee, 2, 2}));
  EXPECT_EQ(store_->codes.count_unassigned(kCoffee, 1), 1) << "counted up to the limit";
  EXPECT_EQ(store_->codes.count_unassigned({8}, 10), 0);
}

// OPS-33
TEST_P(TransactionEffects, CodesAreCountedUpToTheBound) {
  sql("INSERT INTO gift_code (gift_id, code, imported_at, transaction_id) WITH RECURSIVE n (i) AS (SELECT 1 "
      "UNION ALL SELECT i + 1 FROM n WHERE i < 20020) SELECT CASE WHEN i <= 20010 THEN 7 ELSE 9 END, cast(i "
      "AS TEXT), 1, CASE WHEN i % 2 = 0 THEN i END FROM n");
  EXPECT_THAT(store_->codes.counts(), ElementsAre(GiftCodeCounts{kCoffee, kMaxCounted + 1, kMaxCounted + 1},
                                                  GiftCodeCounts{{9}, 5, 5}));
  EXPECT_EQ(store_->codes.counts(50'000).front().left, 10'005) << "exact where a threshold needs it";
}

// STATUS-27
TEST_P(TransactionEffects, AcceptingAgainAfterAVoidKeepsTheCode) {
  import({"A", "B"});
  const auto ids = gifts(1);
  EXPECT_EQ(accept(*store_, ids[0]), ConditionalOutcome::accepted);
  store_->changes.void_change(store_->changes.history(ids[0]).back().id, {kNow + 6, "root", "by mistake"});
  StatusChange later = change(ids[0], Status::redeemed);
  later.occurred_at = later.occurred_at + 10;
  EXPECT_EQ(store_->changes.accept_if(later, always, store_->codes.assign_code(kCoffee, ids[0], kNow + 10)),
            ConditionalOutcome::accepted);
  EXPECT_EQ(store_->codes.find_code(ids[0]), "A");
  EXPECT_EQ(store_->codes.count_unassigned(kCoffee, 9), 1);
}

TEST_P(TransactionEffects, RestoringAnAcceptanceAssignsNoSecondCode) {
  import({"A", "B"});
  const TransactionId gift = gifts(1).front();
  ASSERT_EQ(accept(*store_, gift), ConditionalOutcome::accepted);
  const ChangeId first = store_->changes.history(gift).back().id;
  for (int round = 0; round < 2; ++round) {
    store_->changes.void_change(first, {kNow + 6, "root", "by mistake"});
    EXPECT_EQ(store_->changes.restore_change(first, {kNow + 7, "root", ""}).kind,
              RestoreOutcome::Kind::restored);
  }
  store_->changes.void_change(first, {kNow + 8, "root", ""});
  StatusChange later = change(gift, Status::redeemed);
  later.occurred_at = later.occurred_at + 10;
  ASSERT_EQ(store_->changes.accept_if(later, always, store_->codes.assign_code(kCoffee, gift, kNow + 10)),
            ConditionalOutcome::accepted);
  EXPECT_EQ(store_->changes.restore_change(first, {kNow + 20, "root", ""}).kind,
            RestoreOutcome::Kind::restored);
  EXPECT_EQ(store_->codes.find_code(gift), "A");
  EXPECT_EQ(store_->codes.count_unassigned(kCoffee, 9), 1);
}

// STATUS-9
TEST_P(TransactionEffects, RejectsTheChangeWhenNoCodeIsLeft) {
  const auto ids = gifts(3);
  EXPECT_EQ(accept(*store_, ids[0]), ConditionalOutcome::accepted) << "an item without a list needs none";
  EXPECT_EQ(store_->codes.find_code(ids[0]), std::nullopt);
  import({"ONLY"});
  EXPECT_EQ(accept(*store_, ids[1]), ConditionalOutcome::accepted);
  EXPECT_EQ(accept(*store_, ids[2]), ConditionalOutcome::effect_unavailable);
  EXPECT_THAT(store_->changes.history(ids[2]), IsEmpty());
  EXPECT_EQ(store_->codes.find_code(ids[2]), std::nullopt);
}

TEST_P(TransactionEffects, ARefusedChangeAssignsNoCode) {
  import({"A"});
  const TransactionId gift = gifts(1).front();
  const auto never = [](UtcMillis, std::span<const ChangeSpan>) { return false; };
  EXPECT_EQ(store_->changes.accept_if(change(gift, Status::redeemed), never,
                                      store_->codes.assign_code(kCoffee, gift, kNow)),
            ConditionalOutcome::refused);
  EXPECT_EQ(store_->codes.count_unassigned(kCoffee, 10), 1);
}

TEST_P(TransactionEffects, ConcurrentAcceptancesGetDistinctCodes) {
  constexpr std::size_t kGifts = 24;
  constexpr std::size_t kCodes = 20;
  std::vector<std::string> codes;
  for (std::size_t i = 0; i < kCodes; ++i) codes.push_back("C" + std::to_string(i));
  import(codes);
  const auto ids = gifts(kGifts);
  Store other(database_->address());  // as another process
  {
    std::vector<std::jthread> recipients;
    for (std::size_t i = 0; i < kGifts; ++i)
      recipients.emplace_back([&, i] { accept(i % 2 ? other : *store_, ids[i]); });
  }
  std::set<std::string> handed_out;
  std::size_t accepted = 0;
  for (const TransactionId id : ids) {
    const auto code = store_->codes.find_code(id);
    EXPECT_EQ(code.has_value(), !store_->changes.history(id).empty());
    accepted += code.has_value();
    if (code) handed_out.insert(*code);
  }
  EXPECT_EQ(handed_out.size(), accepted) << "no code twice";
  EXPECT_EQ(accepted, kCodes);
}

TEST_P(TransactionEffects, AGiftHasOneDonationAlsoWhenAnEarlierChoiceIsRestored) {
  const TransactionId gift = gifts(1).front();
  const Donation first{"First", ""};
  const Donation last{"Last", ""};
  ASSERT_EQ(store_->changes.accept_if(change(gift, Status::donated), always,
                                      store_->donations.record_effect(gift, first)),
            ConditionalOutcome::accepted);
  const ChangeId id = store_->changes.history(gift).back().id;
  store_->changes.void_change(id, {kNow + 6, "root", "by mistake"});
  StatusChange later = change(gift, Status::donated);
  later.occurred_at = later.occurred_at + 10;
  ASSERT_EQ(store_->changes.accept_if(later, always, store_->donations.record_effect(gift, last)),
            ConditionalOutcome::accepted);
  EXPECT_EQ(store_->changes.restore_change(id, {kNow + 20, "root", ""}).kind, RestoreOutcome::Kind::restored);
  EXPECT_EQ(store_->donations.find(gift), last);
}

TEST_P(TransactionEffects, StoresADonationWithItsOutcome) {
  const TransactionId gift = gifts(1).front();
  EXPECT_EQ(store_->donations.find(gift), std::nullopt);
  const Donation chosen{"Zürich \"Hilft\"", "https://charity.example"};
  EXPECT_EQ(store_->changes.accept_if(change(gift, Status::donated), always,
                                      store_->donations.record_effect(gift, chosen)),
            ConditionalOutcome::accepted);
  EXPECT_EQ(store_->donations.find(gift), chosen);
}

TEST_P(TransactionEffects, AnAdditionalChangeIsAtomicWithTheOutcome) {
  const auto ids = gifts(2);
  EXPECT_EQ(store_->changes.accept_if(change(ids[0], Status::redeemed), always,
                                      store_->changes.additional_change(change(ids[0], Status::opened))),
            ConditionalOutcome::accepted);
  EXPECT_EQ(store_->changes.history(ids[0]).size(), 2u);
  const TransactionEffect opened = store_->changes.additional_change(change(ids[1], Status::opened));
  EXPECT_EQ(store_->changes.accept_if(change(ids[1], Status::redeemed), always,
                                      [&](soci::session& session) { return opened.apply(session) && false; }),
            ConditionalOutcome::effect_unavailable);
  EXPECT_THAT(store_->changes.history(ids[1]), IsEmpty());
}

}  // namespace
}  // namespace giftsync::store
