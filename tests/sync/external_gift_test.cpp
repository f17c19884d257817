// The record of a gift that was sent elsewhere (Spec 6.3.1): what differs from one of ours.
#include <gtest/gtest.h>

#include "schema/store/store.h"
#include "sync/gift_record_draft.h"
#include "sync/sending_times.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::sync {
namespace {

using namespace schema;

Gift gift(SendMode mode) {
  Gift made;
  made.request.mode = mode;
  made.request.sender_email = "rose@example.com";
  made.transaction.id = {8'000'000'001};
  made.transaction.phone = "+1 650 867 3450";
  made.transaction.times[Status::sent] = UtcMillis{1'700'000'000'000};
  return made;
}

FieldValue field(const GiftRecordDraft& draft, GiftField wanted) {
  return draft.record.get(wanted);
}

TEST(ExternalGift, IsTriggeredByItsSenderAndOursByTheIntegrationUser) {
  MatchDecision decision;
  decision.sender_id = "005ROSE";
  const auto external = draft_gift_record(gift(SendMode::external), decision, "", "005DAEMON");
  const auto ours = draft_gift_record(gift(SendMode::email), decision, "", "005DAEMON");
  for (const GiftField who : {GiftField::actual_sender, GiftField::created_by, GiftField::owner}) {
    EXPECT_EQ(field(external, who), FieldValue(std::string("005ROSE")));
    EXPECT_EQ(field(ours, who), FieldValue(std::string("005DAEMON")));
  }
  const auto unknown = draft_gift_record(gift(SendMode::external), MatchDecision(), "", "005DAEMON");
  EXPECT_EQ(field(unknown, GiftField::actual_sender), FieldValue(std::string("005DAEMON")));
}

TEST(ExternalGift, TellsWhatIsKnownOfIt) {
  const auto draft = draft_gift_record(gift(SendMode::external), MatchDecision(), "", "");
  EXPECT_EQ(field(draft, GiftField::name), FieldValue(std::string("Gift for +1 650 867 3450")));
  EXPECT_EQ(field(draft, GiftField::recipient_phone_number), FieldValue(std::string("+1 650 867 3450")));
  EXPECT_EQ(field(draft, GiftField::item_id), FieldValue());
  EXPECT_EQ(field(draft, GiftField::link), FieldValue());
  EXPECT_EQ(field(draft, GiftField::delivered_by), FieldValue());
}

TEST(ExternalGift, WhatNobodyToldOfItsCostsIsEmptyAndNotNothing) {
  constexpr GiftField kMoney[] = {GiftField::item_cost, GiftField::shipping_cost,
                                  GiftField::carbon_neutral_cost, GiftField::transaction_fee,
                                  GiftField::total_price};
  Gift told = gift(SendMode::external);
  const auto silent = draft_gift_record(told, MatchDecision(), "", "");
  for (const GiftField cost : kMoney) EXPECT_EQ(field(silent, cost), FieldValue());
  told.request.costs.item = Money{550};
  told.request.costs.transaction_fee = Money{0};
  const auto draft = draft_gift_record(told, MatchDecision(), "", "");
  EXPECT_EQ(field(draft, GiftField::item_cost), FieldValue(Money{550}));
  EXPECT_EQ(field(draft, GiftField::shipping_cost), FieldValue());
  EXPECT_EQ(field(draft, GiftField::transaction_fee), FieldValue(Money{0}));
  EXPECT_EQ(field(draft, GiftField::total_price), FieldValue(Money{550}));
}

TEST(ExternalGift, MadeWhenSendingsWereNoChangesYetKeepsItsTime) {
  constexpr UtcMillis kSent{1'700'000'000'000};
  TemporaryDatabase database(Dialect::sqlite);
  migrate_store(database.address());
  Store store(database.address());
  store.sources.open("vendor", "vendor", kSent);
  SourceReport page;
  page.source = page.origin = "vendor";
  page.now = kSent;
  SourceItem& item = page.items.emplace_back();
  const TransactionId id{9'000'000'001};
  item.change = StatusChange{{}, "vendor", id, Status::delivered, kSent + 500, kSent + 500, {}};
  item.gift.emplace();
  item.gift->id = id;
  item.gift->email = "ada@example.com";
  item.gift->sent_at = kSent;
  store.sources.accept(page);
  const auto told = [&] {
    const auto gifts = store.gifts.gifts(std::span(&id, 1));
    const Gift* const gift = &gifts.front();
    return reported_times_of_sending(store.changes, std::span(&gift, 1),
                                     store.changes.spans_of(std::span(&id, 1)))
        .at(id);
  };
  EXPECT_EQ(told(), kSent);
  item.gift.reset();
  item.change->status = Status::sent;
  store.sources.accept(page);
  EXPECT_EQ(told(), kSent) << "a later report moves nothing";
  item.change->occurred_at = kSent - 500;
  store.sources.accept(page);
  EXPECT_EQ(told(), kSent - 500);
}

}  // namespace
}  // namespace giftsync::sync
