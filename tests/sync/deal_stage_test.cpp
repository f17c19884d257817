// Deal Stage: the stamp of one opportunity at one sending, which no rematch fills and none leaves with
// another opportunity. Over every back end; the admin's hand is plain SQL.
#include "tests/sync/links_ground.h"

namespace giftsync::sync {
namespace {

using testing::HasSubstr;
using Kind = Rematch::Kind;

class DealStage : public LinksGround {};

INSTANTIATE_TEST_SUITE_P(BackEnds, DealStage, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(DealStage, DealStageIsAStampThatStaysWithItsOpportunity) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE crm_opportunity SET stagename = 'Won', isclosed = true WHERE id = 'o2'");
  report(gift, Status::opened, 10);
  step();
  EXPECT_EQ(record(gift, "deal_stage"), "Closing");
  sql("UPDATE crm_contact SET accountid = 'a9'");
  sql("UPDATE crm_opportunity SET stagename = 'Reopened', isclosed = false WHERE id = 'o2'");
  EXPECT_EQ(rematch_gift(gift).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "account"), "a9");
  EXPECT_EQ(record(gift, "opportunity"), "o2");
  EXPECT_EQ(record(gift, "deal_stage"), "Closing");
  EXPECT_EQ(mirror(gift).decision.warnings, "");
}

TEST_P(DealStage, ARematchEmptiesTheStageOfAnotherOpportunityAndSaysSo) {
  add_contact_with_opportunities();
  const TransactionId other = send("ada@example.com");
  const TransactionId none = send("ada@example.com");
  step();
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  const Rematch done = rematch_gift(other);
  EXPECT_EQ(done.kind, Kind::relinked);
  EXPECT_EQ(done.stage_from, "Closing");
  EXPECT_EQ(done.stage_to, "");
  EXPECT_EQ(record(other, "opportunity"), "o1");
  EXPECT_EQ(record(other, "deal_stage"), "null");
  EXPECT_EQ(mirror(other).decision.deal_stage, "");
  EXPECT_EQ(mirror(other).decision.warnings,
            "Deal Stage was emptied: \"Closing\" was the stage of another opportunity, and a rematch never "
            "fills it.");
  sql("DELETE FROM crm_opportunity_contact_role");
  EXPECT_EQ(rematch_gift(none).kind, Kind::relinked);
  EXPECT_EQ(record(none, "opportunity"), "null");
  EXPECT_EQ(record(none, "deal_stage"), "null");
  EXPECT_THAT(mirror(none).decision.warnings, HasSubstr("Deal Stage was emptied"));
}

TEST_P(DealStage, RematchThatWasKilledHasEmptiedTheStageAlready) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  // The CRM was written, the store was not.
  const GiftRelink half{gift, {"c1", "a1", "", "o2"}, {"c1", "a1", "", "o1"}, "Closing", ""};
  crm_->relink_gift_records(std::span(&half, 1));
  EXPECT_EQ(rematch_gift(gift).kind, Kind::unchanged);
  EXPECT_EQ(mirror(gift).decision.opportunity_id, "o1");
  EXPECT_EQ(mirror(gift).decision.deal_stage, "");
  EXPECT_EQ(record(gift, "deal_stage"), "null");
}

TEST_P(DealStage, ASendingToSomebodyElseStampsTheStageOfNow) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  EXPECT_EQ(rematch_gift(gift, true).kind, Kind::unchanged);
  EXPECT_EQ(record(gift, "deal_stage"), "Closing") << "the opportunity is the same";
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  const Rematch sent = rematch_gift(gift, true);
  EXPECT_EQ(sent.kind, Kind::relinked);
  EXPECT_EQ(sent.stage_from, "Closing");
  EXPECT_EQ(sent.stage_to, "Later");
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_EQ(record(gift, "deal_stage"), "Later");
  EXPECT_EQ(mirror(gift).decision.deal_stage, "Later");
  sql("UPDATE crm_contact SET email = 'new@example.com'");
  EXPECT_EQ(rematch_gift(gift, true).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "opportunity"), "null");
  EXPECT_EQ(record(gift, "deal_stage"), "null");
  EXPECT_EQ(mirror(gift).decision.warnings, "");
}

TEST_P(DealStage, AStampTakesBackWhatWasSaidOfDealStage) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step(kNow + kDayMillis + 1);
  ASSERT_THAT(mirror(gift).decision.warnings, HasSubstr("Deal Stage stays empty"));
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  rematch_gift(gift, true);
  EXPECT_EQ(record(gift, "deal_stage"), "Later");
  EXPECT_EQ(mirror(gift).decision.warnings, "");
}

TEST_P(DealStage, ADealStageEditedByHandStaysThroughRematchAndSending) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE crm_gift_record SET deal_stage = 'Mine'");
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  const Rematch done = rematch_gift(gift);
  EXPECT_EQ(done.kind, Kind::relinked);
  EXPECT_EQ(done.stage_from, "Mine");
  EXPECT_EQ(done.stage_to, "Mine");
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_EQ(record(gift, "deal_stage"), "Mine");
  EXPECT_EQ(mirror(gift).decision.warnings, "Deal Stage stays as somebody in the CRM wrote it.");
  sql("UPDATE crm_opportunity SET isclosed = (id = 'o1')");
  EXPECT_EQ(rematch_gift(gift, true).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "opportunity"), "o3");
  EXPECT_EQ(record(gift, "deal_stage"), "Mine");
}

TEST_P(DealStage, AStageThatOutlivedALinkMadeByHandGoesWhenMatchingAgrees) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE crm_gift_record SET opportunity = 'o1'");
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  EXPECT_EQ(rematch_gift(gift).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_EQ(record(gift, "deal_stage"), "null");
}

TEST_P(DealStage, AGiftThatHasNoRecordYetIsMadeWithTheStageOfItsOpportunity) {
  add_contact_with_opportunities();
  const TransactionId rematched = send("ada@example.com");
  const TransactionId sent = send("ada@example.com");
  for (const TransactionId gift : {rematched, sent}) {
    GiftMirror decided{gift, MirrorState::decided, kNow, {}, 0, ""};
    decided.decision.contact_id = "c1";
    decided.decision.account_id = "a1";
    decided.decision.opportunity_id = "o3";
    decided.decision.deal_stage = "Won";
    store_->sync.decide(std::span(&decided, 1));
  }
  EXPECT_EQ(rematch_gift(rematched).kind, Kind::to_make);
  EXPECT_EQ(rematch_gift(sent, true).kind, Kind::to_make);
  EXPECT_EQ(step(kNow + 2000).created, 2u);
  EXPECT_EQ(record(rematched, "opportunity"), "o2");
  EXPECT_EQ(record(rematched, "deal_stage"), "null");
  EXPECT_EQ(record(sent, "deal_stage"), "Closing");
}

TEST_P(DealStage, AMatchMadeMoreThanADayAfterSendingStampsNoStageAndSaysSo) {
  add_contact_with_opportunities();
  const TransactionId in_time = send("ada@example.com");
  step(kNow + kDayMillis);
  EXPECT_EQ(record(in_time, "deal_stage"), "Closing");
  const TransactionId late = send("ada@example.com");
  step(kNow + kDayMillis + 1);
  EXPECT_EQ(record(late, "opportunity"), "o2");
  EXPECT_EQ(record(late, "deal_stage"), "null");
  EXPECT_THAT(mirror(late).decision.warnings, HasSubstr("Deal Stage stays empty"));
}

}  // namespace
}  // namespace giftsync::sync
