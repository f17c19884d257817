// The record of an external gift (SRC-19): how it differs from giftsync's own gifts.
#include "sync/gift_record_draft.h"

#include <gtest/gtest.h>

#include "platform/text.h"
#include "schema/store/store.h"
#include "sync/external_sent_times.h"
#include "tests/support/temporary_database.h"

namespace giftsync::sync {
namespace {

using namespace schema;

schema::store::Gift gift(schema::SendMode mode) {
  schema::store::Gift made;
  made.request.mode = mode;
  made.request.sender_email = "rose@example.com";
  made.transaction.id = {8'000'000'001};
  made.transaction.phone = "+1 650 867 3450";
  made.transaction.times[schema::Status::sent] = platform::UtcMillis{1'700'000'000'000};
  return made;
}

schema::FieldValue field(const GiftRecordDraft& draft, schema::GiftField wanted) {
  return draft.record.get(wanted);
}

// SYNC-13
TEST(GiftRecordDraftTest, ExternalGiftIsTriggeredBySenderAndOwnGiftByIntegrationUser) {
  schema::store::MatchDecision decision;
  decision.sender_id = "005ROSE";
  const auto external = draft_gift_record(gift(schema::SendMode::external), decision, "", "005DAEMON");
  const auto ours = draft_gift_record(gift(schema::SendMode::email), decision, "", "005DAEMON");
  for (const schema::GiftField who :
       {schema::GiftField::actual_sender, schema::GiftField::created_by, schema::GiftField::owner}) {
    EXPECT_EQ(field(external, who), schema::FieldValue(std::string("005ROSE")));
    EXPECT_EQ(field(ours, who), schema::FieldValue(std::string("005DAEMON")));
  }
  const auto unknown =
      draft_gift_record(gift(schema::SendMode::external), schema::store::MatchDecision(), "", "005DAEMON");
  EXPECT_EQ(field(unknown, schema::GiftField::actual_sender), schema::FieldValue(std::string("005DAEMON")));
}

TEST(GiftRecordDraftTest, ExternalGiftHasTheKnownFields) {
  const auto draft =
      draft_gift_record(gift(schema::SendMode::external), schema::store::MatchDecision(), "", "");
  EXPECT_EQ(field(draft, schema::GiftField::name),
            schema::FieldValue(std::string("Gift for +1 650 867 3450")));
  EXPECT_EQ(field(draft, schema::GiftField::recipient_phone_number),
            schema::FieldValue(std::string("+1 650 867 3450")));
  EXPECT_EQ(field(draft, schema::GiftField::item_id), schema::FieldValue());
  EXPECT_EQ(field(draft, schema::GiftField::link), schema::FieldValue());
  EXPECT_EQ(field(draft, schema::GiftField::delivered_by), schema::FieldValue());
}

// SYNC-7
TEST(GiftRecordDraftTest, UnknownCostsAreAbsentNotZero) {
  constexpr schema::GiftField kMoney[] = {schema::GiftField::item_cost, schema::GiftField::shipping_cost,
                                          schema::GiftField::carbon_neutral_cost,
                                          schema::GiftField::transaction_fee, schema::GiftField::total_price};
  schema::store::Gift external = gift(schema::SendMode::external);
  const auto silent = draft_gift_record(external, schema::store::MatchDecision(), "", "");
  for (const schema::GiftField cost : kMoney) EXPECT_EQ(field(silent, cost), schema::FieldValue());
  external.request.costs.item = schema::Money{550};
  external.request.costs.transaction_fee = schema::Money{0};
  const auto draft = draft_gift_record(external, schema::store::MatchDecision(), "", "");
  EXPECT_EQ(field(draft, schema::GiftField::item_cost), schema::FieldValue(schema::Money{550}));
  EXPECT_EQ(field(draft, schema::GiftField::shipping_cost), schema::FieldValue());
  EXPECT_EQ(field(draft, schema::GiftField::transaction_fee), schema::FieldValue(schema::Money{0}));
  EXPECT_EQ(field(draft, schema::GiftField::total_price), schema::FieldValue(schema::Money{550}));
}

// SYNC-14
TEST(GiftRecordDraftTest, TextBeyondItsFieldIsCutWithAWarning) {
  schema::store::Gift long_text = gift(schema::SendMode::email);
  for (int i = 0; i < 131'073; ++i) long_text.transaction.message += "\u00e9";
  long_text.request.item_name = std::string(200, 'x');
  const auto draft = draft_gift_record(long_text, schema::store::MatchDecision(), "", "");
  const auto length = [&](schema::GiftField wanted) {
    return platform::count_code_points(std::get<std::string>(field(draft, wanted)));
  };
  EXPECT_EQ(length(schema::GiftField::message), 131'072u);
  EXPECT_EQ(length(schema::GiftField::name), 80u) << "which is no warning: SYNC-9";
  ASSERT_EQ(draft.warnings.size(), 1u);
  EXPECT_EQ(draft.warnings.front(), "Message was cut to its 131072 characters in the CRM");
}

TEST(GiftRecordDraftTest, GiftWithoutSentChangeKeepsItsCreationTime) {
  constexpr platform::UtcMillis kSent{1'700'000'000'000};
  tests::TemporaryDatabase database(schema::sql::Dialect::sqlite);
  schema::store::migrate_store(database.address());
  schema::store::Store store(database.address());
  store.sources.open("vendor", "vendor", kSent);
  schema::store::InboundBatch page;
  page.source = page.gift_source = "vendor";
  page.now = kSent;
  schema::store::InboundItem& item = page.items.emplace_back();
  const schema::TransactionId id{9'000'000'001};
  item.change =
      schema::store::StatusChange{{}, "vendor", id, schema::Status::delivered, kSent + 500, kSent + 500, {}};
  item.gift.emplace();
  item.gift->id = id;
  item.gift->email = "ada@example.com";
  item.gift->sent_at = kSent;
  store.sources.accept(page);
  const auto sent_time = [&] {
    const auto gifts = store.gifts.find(std::span(&id, 1));
    const schema::store::Gift* const gift = &gifts.front();
    return reported_sent_times(store.changes, std::span(&gift, 1), store.changes.spans_of(std::span(&id, 1)))
        .at(id);
  };
  EXPECT_EQ(sent_time(), kSent);
  item.gift.reset();
  item.change->status = schema::Status::sent;
  store.sources.accept(page);
  EXPECT_EQ(sent_time(), kSent) << "a later report changes nothing";
  item.change->occurred_at = kSent - 500;
  store.sources.accept(page);
  EXPECT_EQ(sent_time(), kSent - 500);
}

}  // namespace
}  // namespace giftsync::sync
