// Gift codes and donations: what is handed out with an outcome, on both back ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};
constexpr GiftId kCoffee{7};

class HandedOut : public StoreGround {
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
  DecidedOutcome accept(Store& store, TransactionId gift) {
    return store.changes.accept_if(change(gift, Status::redeemed), always,
                                   store.codes.one_for(kCoffee, gift, kNow));
  }
  std::int64_t import(const std::vector<std::string>& codes) {
    return store_->codes.import(kCoffee, codes, kNow);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, HandedOut, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(HandedOut, CodesGoOutOnceInTheirOrder) {
  EXPECT_THAT(store_->codes.counts(), IsEmpty());
  EXPECT_EQ(import({"B", "A", "\"quoted\", {x} \\ ☕"}), 3);
  EXPECT_EQ(import({"A", "NEW"}), 1) << "known codes stay";
  const auto ids = gifts(2);
  EXPECT_EQ(accept(*store_, ids[0]), DecidedOutcome::accepted);
  EXPECT_EQ(accept(*store_, ids[1]), DecidedOutcome::accepted);
  EXPECT_EQ(store_->codes.code_of(ids[0]), "B");
  EXPECT_EQ(store_->codes.code_of(ids[1]), "A");
  EXPECT_EQ(import({"A", "B"}), 0) << "what was handed out does not come back";
  EXPECT_THAT(store_->codes.counts(), ElementsAre(GiftCodeCounts{kCoffee, 2, 2}));
  EXPECT_EQ(store_->codes.count_left(kCoffee, 1), 1) << "counted no further than asked";
  EXPECT_EQ(store_->codes.count_left({8}, 10), 0);
}

TEST_P(HandedOut, WhoAcceptsAgainAfterAVoidedAcceptanceKeepsTheCode) {
  import({"A", "B"});
  const auto ids = gifts(1);
  EXPECT_EQ(accept(*store_, ids[0]), DecidedOutcome::accepted);
  store_->changes.void_change(store_->changes.history(ids[0]).back().id, {kNow + 6, "root", "by mistake"});
  StatusChange later = change(ids[0], Status::redeemed);
  later.occurred_at = later.occurred_at + 10;
  EXPECT_EQ(store_->changes.accept_if(later, always, store_->codes.one_for(kCoffee, ids[0], kNow + 10)),
            DecidedOutcome::accepted);
  EXPECT_EQ(store_->codes.code_of(ids[0]), "A");
  EXPECT_EQ(store_->codes.count_left(kCoffee, 9), 1);
}

TEST_P(HandedOut, ARestoredAcceptanceTakesNoSecondCode) {
  import({"A", "B"});
  const TransactionId gift = gifts(1).front();
  ASSERT_EQ(accept(*store_, gift), DecidedOutcome::accepted);
  const ChangeId first = store_->changes.history(gift).back().id;
  for (int round = 0; round < 2; ++round) {
    store_->changes.void_change(first, {kNow + 6, "root", "by mistake"});
    EXPECT_EQ(store_->changes.restore_change(first, {kNow + 7, "root", ""}).kind,
              RestoreOutcome::Kind::restored);
  }
  store_->changes.void_change(first, {kNow + 8, "root", ""});
  StatusChange later = change(gift, Status::redeemed);
  later.occurred_at = later.occurred_at + 10;
  ASSERT_EQ(store_->changes.accept_if(later, always, store_->codes.one_for(kCoffee, gift, kNow + 10)),
            DecidedOutcome::accepted);
  EXPECT_EQ(store_->changes.restore_change(first, {kNow + 20, "root", ""}).kind,
            RestoreOutcome::Kind::restored);
  EXPECT_EQ(store_->codes.code_of(gift), "A");
  EXPECT_EQ(store_->codes.count_left(kCoffee, 9), 1);
}

TEST_P(HandedOut, WithoutOneLeftNothingIsAccepted) {
  const auto ids = gifts(3);
  EXPECT_EQ(accept(*store_, ids[0]), DecidedOutcome::accepted) << "an item without a list needs none";
  EXPECT_EQ(store_->codes.code_of(ids[0]), std::nullopt);
  import({"ONLY"});
  EXPECT_EQ(accept(*store_, ids[1]), DecidedOutcome::accepted);
  EXPECT_EQ(accept(*store_, ids[2]), DecidedOutcome::nothing_to_hand_out);
  EXPECT_THAT(store_->changes.history(ids[2]), IsEmpty());
  EXPECT_EQ(store_->codes.code_of(ids[2]), std::nullopt);
}

TEST_P(HandedOut, ARefusedChoiceTakesNoCode) {
  import({"A"});
  const TransactionId gift = gifts(1).front();
  const auto never = [](UtcMillis, std::span<const ChangeSpan>) { return false; };
  EXPECT_EQ(store_->changes.accept_if(change(gift, Status::redeemed), never,
                                      store_->codes.one_for(kCoffee, gift, kNow)),
            DecidedOutcome::refused);
  EXPECT_EQ(store_->codes.count_left(kCoffee, 10), 1);
}

TEST_P(HandedOut, ManyAtOnceGetDifferentCodes) {
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
    const auto code = store_->codes.code_of(id);
    EXPECT_EQ(code.has_value(), !store_->changes.history(id).empty());
    accepted += code.has_value();
    if (code) handed_out.insert(*code);
  }
  EXPECT_EQ(handed_out.size(), accepted) << "no code twice";
  EXPECT_EQ(accepted, kCodes);
}

TEST_P(HandedOut, AGiftHasOneDonationAlsoWhenAnEarlierChoiceIsRestored) {
  const TransactionId gift = gifts(1).front();
  const Donation first{"First", ""};
  const Donation last{"Last", ""};
  ASSERT_EQ(
      store_->changes.accept_if(change(gift, Status::donated), always, store_->donations.record(gift, first)),
      DecidedOutcome::accepted);
  const ChangeId id = store_->changes.history(gift).back().id;
  store_->changes.void_change(id, {kNow + 6, "root", "by mistake"});
  StatusChange later = change(gift, Status::donated);
  later.occurred_at = later.occurred_at + 10;
  ASSERT_EQ(store_->changes.accept_if(later, always, store_->donations.record(gift, last)),
            DecidedOutcome::accepted);
  EXPECT_EQ(store_->changes.restore_change(id, {kNow + 20, "root", ""}).kind, RestoreOutcome::Kind::restored);
  EXPECT_EQ(store_->donations.donation(gift), last);
}

TEST_P(HandedOut, ADonationIsKeptWithItsOutcome) {
  const TransactionId gift = gifts(1).front();
  EXPECT_EQ(store_->donations.donation(gift), std::nullopt);
  const Donation chosen{"Zürich \"Hilft\"", "https://charity.example"};
  EXPECT_EQ(store_->changes.accept_if(change(gift, Status::donated), always,
                                      store_->donations.record(gift, chosen)),
            DecidedOutcome::accepted);
  EXPECT_EQ(store_->donations.donation(gift), chosen);
}

TEST_P(HandedOut, AChangeBesideStandsOrFallsWithIt) {
  const auto ids = gifts(2);
  EXPECT_EQ(store_->changes.accept_if(change(ids[0], Status::redeemed), always,
                                      store_->changes.beside(change(ids[0], Status::opened))),
            DecidedOutcome::accepted);
  EXPECT_EQ(store_->changes.history(ids[0]).size(), 2u);
  const HandOut opened = store_->changes.beside(change(ids[1], Status::opened));
  EXPECT_EQ(store_->changes.accept_if(change(ids[1], Status::redeemed), always,
                                      [&](soci::session& session) { return opened.write(session) && false; }),
            DecidedOutcome::nothing_to_hand_out);
  EXPECT_THAT(store_->changes.history(ids[1]), IsEmpty());
}

}  // namespace
}  // namespace giftsync::schema
