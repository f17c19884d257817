// The record of a gift that was sent elsewhere (Spec 6.3.1): what differs from one of ours.
#include <gtest/gtest.h>

#include "sync/gift_record_draft.h"

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

}  // namespace
}  // namespace giftsync::sync
