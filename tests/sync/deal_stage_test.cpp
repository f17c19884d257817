// Deal Stage: the stage of one opportunity when the gift was sent. A rematch never fills it, and clears it
// when the opportunity changes. On every back end; an admin's edits are plain SQL.
#include "tests/support/crm_links_fixture.h"

namespace giftsync::sync {
namespace {

using testing::HasSubstr;
using Kind = matching::RematchResult::Kind;

class DealStage : public tests::CrmLinksFixture {};

INSTANTIATE_TEST_SUITE_P(BackEnds, DealStage, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(DealStage, DealStageIsKeptWithItsOpportunity) {
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
  EXPECT_EQ(sync_state(gift).decision.warnings, "");
}

// MATCH-18
TEST_P(DealStage, RematchClearsStageOfAnotherOpportunityWithWarning) {
  add_contact_with_opportunities();
  const TransactionId other = send("ada@example.com");
  const TransactionId none = send("ada@example.com");
  step();
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  const matching::RematchResult done = rematch_gift(other);
  EXPECT_EQ(done.kind, Kind::relinked);
  EXPECT_EQ(done.stage_from, "Closing");
  EXPECT_EQ(done.stage_to, "");
  EXPECT_EQ(record(other, "opportunity"), "o1");
  EXPECT_EQ(record(other, "deal_stage"), "null");
  EXPECT_EQ(sync_state(other).decision.deal_stage, "");
  EXPECT_EQ(sync_state(other).decision.warnings,
            "Deal Stage was cleared: \"Closing\" was the stage of another opportunity, and a rematch never "
            "fills it.");
  sql("DELETE FROM crm_opportunity_contact_role");
  EXPECT_EQ(rematch_gift(none).kind, Kind::relinked);
  EXPECT_EQ(record(none, "opportunity"), "null");
  EXPECT_EQ(record(none, "deal_stage"), "null");
  EXPECT_THAT(sync_state(none).decision.warnings, HasSubstr("Deal Stage was cleared"));
}

TEST_P(DealStage, InterruptedRematchHasClearedTheStage) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  // The CRM was written, the store was not.
  const crm::GiftRelink half{gift, {"c1", "a1", "", "o2"}, {"c1", "a1", "", "o1"}, "Closing", ""};
  crm_->gift_records().relink(std::span(&half, 1));
  EXPECT_EQ(rematch_gift(gift).kind, Kind::unchanged);
  EXPECT_EQ(sync_state(gift).decision.opportunity_id, "o1");
  EXPECT_EQ(sync_state(gift).decision.deal_stage, "");
  EXPECT_EQ(record(gift, "deal_stage"), "null");
}

TEST_P(DealStage, ResendToAnotherAddressStampsCurrentStage) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  EXPECT_EQ(rematch_gift(gift, true).kind, Kind::unchanged);
  EXPECT_EQ(record(gift, "deal_stage"), "Closing") << "the opportunity is the same";
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  const matching::RematchResult sent = rematch_gift(gift, true);
  EXPECT_EQ(sent.kind, Kind::relinked);
  EXPECT_EQ(sent.stage_from, "Closing");
  EXPECT_EQ(sent.stage_to, "Later");
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_EQ(record(gift, "deal_stage"), "Later");
  EXPECT_EQ(sync_state(gift).decision.deal_stage, "Later");
  sql("UPDATE crm_contact SET email = 'new@example.com'");
  EXPECT_EQ(rematch_gift(gift, true).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "opportunity"), "null");
  EXPECT_EQ(record(gift, "deal_stage"), "null");
  EXPECT_EQ(sync_state(gift).decision.warnings, "");
}

TEST_P(DealStage, StampRemovesEarlierDealStageWarnings) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step(tests::kNow + kDayMillis + 1);
  ASSERT_THAT(sync_state(gift).decision.warnings, HasSubstr("Deal Stage stays empty"));
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  rematch_gift(gift, true);
  EXPECT_EQ(record(gift, "deal_stage"), "Later");
  EXPECT_EQ(sync_state(gift).decision.warnings, "");
}

TEST_P(DealStage, ManuallyEditedDealStageSurvivesRematchAndResend) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE crm_gift_record SET deal_stage = 'Mine'");
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  const matching::RematchResult done = rematch_gift(gift);
  EXPECT_EQ(done.kind, Kind::relinked);
  EXPECT_EQ(done.stage_from, "Mine");
  EXPECT_EQ(done.stage_to, "Mine");
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_EQ(record(gift, "deal_stage"), "Mine");
  EXPECT_EQ(sync_state(gift).decision.warnings, "Deal Stage was edited in the CRM and is kept.");
  sql("UPDATE crm_opportunity SET isclosed = (id = 'o1')");
  EXPECT_EQ(rematch_gift(gift, true).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "opportunity"), "o3");
  EXPECT_EQ(record(gift, "deal_stage"), "Mine");
}

TEST_P(DealStage, StaleStageOfManualLinkIsClearedWhenMatchAgrees) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE crm_gift_record SET opportunity = 'o1'");
  sql("UPDATE crm_opportunity SET isclosed = true WHERE id = 'o2'");
  EXPECT_EQ(rematch_gift(gift).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_EQ(record(gift, "deal_stage"), "null");
}

TEST_P(DealStage, NewRecordGetsStageOfItsOpportunity) {
  add_contact_with_opportunities();
  const TransactionId rematched = send("ada@example.com");
  const TransactionId sent = send("ada@example.com");
  for (const TransactionId gift : {rematched, sent}) {
    store::CrmSyncState decided{gift, store::CrmSyncStatus::decided, tests::kNow, {}, 0, ""};
    decided.decision.contact_id = "c1";
    decided.decision.account_id = "a1";
    decided.decision.opportunity_id = "o3";
    decided.decision.deal_stage = "Won";
    store_->sync.insert_decisions(std::span(&decided, 1));
  }
  EXPECT_EQ(rematch_gift(rematched).kind, Kind::to_create);
  EXPECT_EQ(rematch_gift(sent, true).kind, Kind::to_create);
  EXPECT_EQ(step(tests::kNow + 2000).created, 2u);
  EXPECT_EQ(record(rematched, "opportunity"), "o2");
  EXPECT_EQ(record(rematched, "deal_stage"), "null");
  EXPECT_EQ(record(sent, "deal_stage"), "Closing");
}

// MATCH-17
TEST_P(DealStage, MatchMoreThanADayAfterSendingLeavesStageEmptyWithWarning) {
  add_contact_with_opportunities();
  const TransactionId in_time = send("ada@example.com");
  step(tests::kNow + kDayMillis);
  EXPECT_EQ(record(in_time, "deal_stage"), "Closing");
  const TransactionId late = send("ada@example.com");
  step(tests::kNow + kDayMillis + 1);
  EXPECT_EQ(record(late, "opportunity"), "o2");
  EXPECT_EQ(record(late, "deal_stage"), "null");
  EXPECT_THAT(sync_state(late).decision.warnings, HasSubstr("Deal Stage stays empty"));
}

}  // namespace
}  // namespace giftsync::sync
