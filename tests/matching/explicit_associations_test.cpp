// Associations that a request record names apply to the first decision and to every rematch (REQ-28,
// MATCH-22). Only what the CRM no longer has is matched.
#include "tests/support/crm_links_fixture.h"

namespace giftsync::matching {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RematchResult::Kind;

class ExplicitAssociationsTest : public tests::CrmLinksFixture {
 protected:
  void SetUp() override {
    tests::CrmLinksFixture::SetUp();
    if (IsSkipped()) return;
    sql("INSERT INTO crm_account (id, name) VALUES ('a1', 'One'), ('a2', 'Two')");
    sql("INSERT INTO crm_contact (id, email, accountid, lastmodifieddate) VALUES ('c1', 'rose@example.com', "
        "'a1', '2020-01-01'), "
        "('c2', 'rose@example.com', 'a2', '2025-01-01'), ('c3', 'sole@example.com', NULL, '2025-01-01')");
    sql("INSERT INTO crm_opportunity (id, stagename, isclosed, closedate, accountid) VALUES "
        "('o1', 'Proposal', false, '2027-05-01', 'a1'), ('o9', 'Early', false, '2027-01-01', 'a2')");
    sql("INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) VALUES ('k1', 'c2', 'o9'), "
        "('k2', 'c3', 'o9')");
  }

  /// A gift that was sent for a request record with these associations.
  TransactionId send_for(const store::RequestRecordLink& named, const std::string& email) {
    store::RequestRecordEntry known;
    known.record_id = "r" + std::to_string(++requests_);
    known.number = known.record_id;
    known.state = store::RequestRecordState::claimed;
    const store::RequestRecordEntryUpdate change{known, {}};
    store_->request_records.save(std::span(&change, 1));
    store::NewGiftRequest new_request = request_to(email);
    new_request.request_record = named;
    new_request.request_record->record_id = known.record_id;
    new_request.request_record->entry_version = 1;
    return store_->gifts.create(std::span(&new_request, 1)).front().recipients.front().id;
  }
  std::string links(TransactionId gift) {
    return scalar(
        "SELECT coalesce(recipientcontactid, recipientleadid, '-') || ' ' || coalesce(account, '-') || ' ' "
        "|| "
        "coalesce(opportunity, '-') || ' ' || coalesce(deal_stage, '-') FROM crm_gift_record WHERE "
        "recipienttransactionid = " +
        std::to_string(gift.value));
  }
  static store::RequestRecordLink named(const std::string& contact, const std::string& lead,
                                        const std::string& account, const std::string& opportunity) {
    return {"", 0, contact, lead, account, opportunity, ""};
  }

  int requests_ = 0;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ExplicitAssociationsTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// MATCH-24
TEST_P(ExplicitAssociationsTest, ExplicitOpportunitySetsStageAndMissingAccount) {
  const TransactionId rose = send_for(named("c1", "", "", "o1"), "rose@example.com");
  const TransactionId unmatched = send_for(named("", "", "", "o1"), "unknown@example.com");
  const TransactionId sole = send_for(named("", "", "", "o1"), "sole@example.com");
  const TransactionId other = send_for(named("c2", "", "a1", "o1"), "rose@example.com");
  step();
  EXPECT_EQ(links(rose), "c1 a1 o1 Proposal");
  EXPECT_EQ(links(unmatched), "- a1 o1 Proposal");
  EXPECT_EQ(links(sole), "c3 a1 o1 Proposal")
      << "not the account of the opportunity that matching would choose";
  EXPECT_EQ(links(other), "c2 a1 o1 Proposal");
  const TransactionId late = send_for(named("c1", "", "", "o1"), "rose@example.com");
  step(tests::kNow + kDayMillis + 1);
  EXPECT_EQ(links(late), "c1 a1 o1 -");
}

TEST_P(ExplicitAssociationsTest, RematchKeepsExplicitAssociations) {
  const TransactionId unmatched = send_for(named("", "", "a1", "o1"), "new@example.com");
  const TransactionId rose = send_for(named("c1", "", "", ""), "rose@example.com");
  step();
  ASSERT_EQ(links(rose), "c1 a1 - -");
  for (const RematchResult& one : rematch_unmatched()) EXPECT_EQ(one.kind, Kind::unchanged) << one.detail;
  EXPECT_EQ(rematch_gift(rose).kind, Kind::unchanged);
  EXPECT_EQ(links(unmatched), "- a1 o1 Proposal");
  EXPECT_EQ(links(rose), "c1 a1 - -");
  sql("INSERT INTO crm_contact (id, email, accountid) VALUES ('c4', 'new@example.com', 'a2')");
  rematch_unmatched();
  EXPECT_EQ(links(unmatched), "c4 a1 o1 Proposal");
}

TEST_P(ExplicitAssociationsTest, DeletedExplicitAssociationFallsBackToMatching) {
  const TransactionId by_contact = send_for(named("c1", "", "", "o1"), "rose@example.com");
  const TransactionId by_other = send_for(named("c7", "", "", ""), "rose@example.com");
  const TransactionId by_account = send_for(named("c1", "", "a7", ""), "rose@example.com");
  sql("DELETE FROM crm_opportunity WHERE id = 'o1'");
  step();
  ASSERT_EQ(links(by_contact), "c1 a1 - -");
  ASSERT_THAT(store_->sync.list_states_to_rematch(store::RematchScope::needs_relink, {0}, 10), SizeIs(3));
  rematch_unmatched();
  EXPECT_EQ(links(by_contact), "c1 a1 - -") << "the explicit contact is kept";
  EXPECT_EQ(links(by_other), "c2 a2 o9 -");
  EXPECT_EQ(links(by_account), "c1 a1 - -");
  EXPECT_THAT(store_->sync.list_states_to_rematch(store::RematchScope::needs_relink, {0}, 10), IsEmpty());
  rematch_gift(by_account);
  EXPECT_EQ(links(by_account), "c1 a1 - -") << "the deleted account is not used again";
}

TEST_P(ExplicitAssociationsTest, ConvertedLeadKeepsExplicitAccountAndOpportunity) {
  sql("INSERT INTO crm_lead (id, email) VALUES ('l1', 'lea@example.com')");
  const TransactionId gift = send_for(named("", "l1", "a1", "o1"), "lea@example.com");
  step();
  ASSERT_EQ(links(gift), "l1 a1 o1 Proposal");
  sql("UPDATE crm_lead SET isconverted = true, convertedcontactid = 'c2' WHERE id = 'l1'");
  ASSERT_THAT(rematch_converted(), SizeIs(1));
  EXPECT_EQ(links(gift), "c2 a1 o1 Proposal");
  rematch_gift(gift);
  EXPECT_EQ(links(gift), "c2 a1 o1 Proposal") << "the explicit lead is that contact now";
}

// MATCH-23
TEST_P(ExplicitAssociationsTest, AlreadyConvertedExplicitLeadNamesTheRematchCommand) {
  sql("INSERT INTO crm_lead (id, email, isconverted, convertedcontactid) VALUES ('l1', 'lea@example.com', "
      "true, 'c2'), ('l2', 'leo@example.com', true, NULL), ('l3', 'lia@example.com', false, NULL)");
  const TransactionId gift = send_for(named("", "l1", "", ""), "lea@example.com");
  const TransactionId nowhere = send_for(named("", "l2", "", ""), "leo@example.com");
  const TransactionId waiting = send_for(named("", "l3", "", ""), "other@example.com");
  step();
  EXPECT_EQ(links(gift), "l1 - - -") << "the explicit lead is kept";
  EXPECT_THAT(sync_state(gift).decision.reason,
              HasSubstr("names lead l1. It has been converted to contact c2: "
                        "\"giftsyncctl rematch --converted\" moves the gift there."));
  EXPECT_THAT(sync_state(nowhere).decision.reason,
              HasSubstr("names lead l2. It has been converted without a contact."));
  EXPECT_THAT(sync_state(waiting).decision.reason, HasSubstr("names lead l3."));
  EXPECT_THAT(sync_state(waiting).decision.reason, testing::Not(HasSubstr("converted")));
  rematch_converted();
  EXPECT_EQ(record(gift, "recipientcontactid"), "c2");
}

TEST_P(ExplicitAssociationsTest, SkippedGiftGetsExplicitAssociationsLater) {
  rules_.skip_unmatched = true;
  const TransactionId gift = send_for(named("", "", "a1", "o1"), "new@example.com");
  EXPECT_EQ(step().skipped, 1u);
  rules_.skip_unmatched = false;
  const auto made = rematch_unmatched();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].kind, Kind::to_create);
  step(tests::kNow + 1000);
  EXPECT_EQ(links(gift), "- a1 o1 Proposal");
}

TEST_P(ExplicitAssociationsTest, LookupsAreNotClearedForLackOfAMatch) {
  const TransactionId gift = send("rose@example.com");
  store::CrmSyncState decided{gift, store::CrmSyncStatus::decided, tests::kNow, {}, 0, ""};
  decided.decision.contact_id = "c7";  // merged away before the record is written
  decided.decision.account_id = "a1";
  decided.decision.opportunity_id = "o1";
  store_->sync.insert_decisions(std::span(&decided, 1));
  step();
  sql("DELETE FROM crm_contact WHERE email = 'rose@example.com'");
  const auto done = rematch_unmatched();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].kind, Kind::kept);
  EXPECT_THAT(done[0].detail, HasSubstr("no match any more"));
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_TRUE(sync_state(gift).needs_relink) << "it still needs a rematch";
}

// MATCH-30
TEST_P(ExplicitAssociationsTest, ManuallyCorrectedGiftNeedsNoRematch) {
  const TransactionId gift = send("rose@example.com");
  store::CrmSyncState decided{gift, store::CrmSyncStatus::decided, tests::kNow, {}, 0, ""};
  decided.decision.contact_id = "c7";
  store_->sync.insert_decisions(std::span(&decided, 1));
  step();
  ASSERT_TRUE(sync_state(gift).needs_relink);
  sql("UPDATE crm_gift_record SET recipientcontactid = 'c3'");
  EXPECT_EQ(rematch_unmatched(true)[0].kind, Kind::kept);
  ASSERT_TRUE(sync_state(gift).needs_relink) << "a dry run";
  EXPECT_EQ(rematch_unmatched()[0].kind, Kind::kept);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c3");
  EXPECT_FALSE(sync_state(gift).needs_relink);
}

}  // namespace
}  // namespace giftsync::matching
