// What a request record names (design 3.3) stands when the gift is decided and whenever it is decided anew;
// only what the CRM has no longer is left to matching.
#include "tests/sync/links_ground.h"

namespace giftsync::sync {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Rematch::Kind;

class GivenLinks : public LinksGround {
 protected:
  void SetUp() override {
    LinksGround::SetUp();
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

  /// A gift that was sent for a request record which names these.
  TransactionId send_for(const RequestOrigin& named, const std::string& email) {
    KnownRequest known;
    known.key = "r" + std::to_string(++requests_);
    known.number = known.key;
    known.state = RequestState::claimed;
    const RequestChange change{known, {}};
    store_->requests.save(std::span(&change, 1));
    NewGiftRequest asked = request_to(email);
    asked.origin = named;
    asked.origin->key = known.key;
    asked.origin->book_version = 1;
    return store_->gifts.create(std::span(&asked, 1)).front().recipients.front().id;
  }
  std::string links(TransactionId gift) {
    return scalar(
        "SELECT coalesce(recipientcontactid, recipientleadid, '-') || ' ' || coalesce(account, '-') || ' ' "
        "|| "
        "coalesce(opportunity, '-') || ' ' || coalesce(deal_stage, '-') FROM crm_gift_record WHERE "
        "recipienttransactionid = " +
        std::to_string(gift.value));
  }
  static RequestOrigin named(const std::string& contact, const std::string& lead, const std::string& account,
                             const std::string& opportunity) {
    return {"", 0, contact, lead, account, opportunity, ""};
  }

  int requests_ = 0;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, GivenLinks, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(GivenLinks, ANamedOpportunityBringsItsStageAndItsAccountWhereTheContactHasNone) {
  const TransactionId rose = send_for(named("c1", "", "", "o1"), "rose@example.com");
  const TransactionId nobody = send_for(named("", "", "", "o1"), "nobody@example.com");
  const TransactionId sole = send_for(named("", "", "", "o1"), "sole@example.com");
  const TransactionId other = send_for(named("c2", "", "a1", "o1"), "rose@example.com");
  step();
  EXPECT_EQ(links(rose), "c1 a1 o1 Proposal");
  EXPECT_EQ(links(nobody), "- a1 o1 Proposal");
  EXPECT_EQ(links(sole), "c3 a1 o1 Proposal")
      << "not the account of the opportunity that matching would choose";
  EXPECT_EQ(links(other), "c2 a1 o1 Proposal");
  const TransactionId late = send_for(named("c1", "", "", "o1"), "rose@example.com");
  step(kNow + kDayMillis + 1);
  EXPECT_EQ(links(late), "c1 a1 o1 -");
}

TEST_P(GivenLinks, ARematchKeepsWhatIsNamed) {
  const TransactionId nobody = send_for(named("", "", "a1", "o1"), "new@example.com");
  const TransactionId rose = send_for(named("c1", "", "", ""), "rose@example.com");
  step();
  ASSERT_EQ(links(rose), "c1 a1 - -");
  for (const Rematch& one : rematch_unmatched()) EXPECT_EQ(one.kind, Kind::unchanged) << one.note;
  EXPECT_EQ(rematch_gift(rose).kind, Kind::unchanged);
  EXPECT_EQ(links(nobody), "- a1 o1 Proposal");
  EXPECT_EQ(links(rose), "c1 a1 - -");
  sql("INSERT INTO crm_contact (id, email, accountid) VALUES ('c4', 'new@example.com', 'a2')");
  rematch_unmatched();
  EXPECT_EQ(links(nobody), "c4 a1 o1 Proposal");
}

TEST_P(GivenLinks, WhatIsNamedAndIsGoneIsLeftToMatching) {
  const TransactionId by_contact = send_for(named("c1", "", "", "o1"), "rose@example.com");
  const TransactionId by_other = send_for(named("c7", "", "", ""), "rose@example.com");
  const TransactionId by_account = send_for(named("c1", "", "a7", ""), "rose@example.com");
  sql("DELETE FROM crm_opportunity WHERE id = 'o1'");
  step();
  ASSERT_EQ(links(by_contact), "c1 a1 - -");
  ASSERT_THAT(store_->sync.mirrors_to_rematch(RematchScope::needs_rematch, {0}, 10), SizeIs(3));
  rematch_unmatched();
  EXPECT_EQ(links(by_contact), "c1 a1 - -") << "the contact that is named stays";
  EXPECT_EQ(links(by_other), "c2 a2 o9 -");
  EXPECT_EQ(links(by_account), "c1 a1 - -");
  EXPECT_THAT(store_->sync.mirrors_to_rematch(RematchScope::needs_rematch, {0}, 10), IsEmpty());
  rematch_gift(by_account);
  EXPECT_EQ(links(by_account), "c1 a1 - -") << "the account that is gone is not offered again";
}

TEST_P(GivenLinks, AConvertedLeadTakesTheNamedAccountAndOpportunityAlong) {
  sql("INSERT INTO crm_lead (id, email) VALUES ('l1', 'lea@example.com')");
  const TransactionId gift = send_for(named("", "l1", "a1", "o1"), "lea@example.com");
  step();
  ASSERT_EQ(links(gift), "l1 a1 o1 Proposal");
  sql("UPDATE crm_lead SET isconverted = true, convertedcontactid = 'c2' WHERE id = 'l1'");
  ASSERT_THAT(rematch_converted(), SizeIs(1));
  EXPECT_EQ(links(gift), "c2 a1 o1 Proposal");
  rematch_gift(gift);
  EXPECT_EQ(links(gift), "c2 a1 o1 Proposal") << "the lead that was named is that contact now";
}

TEST_P(GivenLinks, ANamedLeadThatWasConvertedBeforeSaysWhatMovesTheGift) {
  sql("INSERT INTO crm_lead (id, email, isconverted, convertedcontactid) VALUES ('l1', 'lea@example.com', "
      "true, 'c2'), ('l2', 'leo@example.com', true, NULL), ('l3', 'lia@example.com', false, NULL)");
  const TransactionId gift = send_for(named("", "l1", "", ""), "lea@example.com");
  const TransactionId nowhere = send_for(named("", "l2", "", ""), "leo@example.com");
  const TransactionId waiting = send_for(named("", "l3", "", ""), "other@example.com");
  step();
  EXPECT_EQ(links(gift), "l1 - - -") << "what the record names stands";
  EXPECT_THAT(mirror(gift).decision.reason,
              HasSubstr("names lead l1. It has been converted to contact c2: "
                        "\"giftsyncctl rematch --converted\" moves the gift there."));
  EXPECT_THAT(mirror(nowhere).decision.reason,
              HasSubstr("names lead l2. It has been converted without a contact."));
  EXPECT_THAT(mirror(waiting).decision.reason, HasSubstr("names lead l3."));
  EXPECT_THAT(mirror(waiting).decision.reason, testing::Not(HasSubstr("converted")));
  rematch_converted();
  EXPECT_EQ(record(gift, "recipientcontactid"), "c2");
}

TEST_P(GivenLinks, ASkippedGiftGetsWhatItsRequestNamesOnceRecordsAreWanted) {
  rules_.skip_unmatched = true;
  const TransactionId gift = send_for(named("", "", "a1", "o1"), "new@example.com");
  EXPECT_EQ(step().skipped, 1u);
  rules_.skip_unmatched = false;
  const auto made = rematch_unmatched();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].kind, Kind::to_make);
  step(kNow + 1000);
  EXPECT_EQ(links(gift), "- a1 o1 Proposal");
}

TEST_P(GivenLinks, NoLinkIsTakenAwayBecauseNobodyMatches) {
  const TransactionId gift = send("rose@example.com");
  GiftMirror decided{gift, MirrorState::decided, kNow, {}, 0, ""};
  decided.decision.contact_id = "c7";  // merged away before the record is written
  decided.decision.account_id = "a1";
  decided.decision.opportunity_id = "o1";
  store_->sync.decide(std::span(&decided, 1));
  step();
  sql("DELETE FROM crm_contact WHERE email = 'rose@example.com'");
  const auto done = rematch_unmatched();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].kind, Kind::kept);
  EXPECT_THAT(done[0].note, HasSubstr("nobody matches now"));
  EXPECT_EQ(record(gift, "opportunity"), "o1");
  EXPECT_TRUE(mirror(gift).needs_rematch) << "it is still to be looked for";
}

TEST_P(GivenLinks, AGiftThatWasPutRightByHandWaitsForNoRematch) {
  const TransactionId gift = send("rose@example.com");
  GiftMirror decided{gift, MirrorState::decided, kNow, {}, 0, ""};
  decided.decision.contact_id = "c7";
  store_->sync.decide(std::span(&decided, 1));
  step();
  ASSERT_TRUE(mirror(gift).needs_rematch);
  sql("UPDATE crm_gift_record SET recipientcontactid = 'c3'");
  EXPECT_EQ(rematch_unmatched(true)[0].kind, Kind::kept);
  ASSERT_TRUE(mirror(gift).needs_rematch) << "a dry run";
  EXPECT_EQ(rematch_unmatched()[0].kind, Kind::kept);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c3");
  EXPECT_FALSE(mirror(gift).needs_rematch);
}

}  // namespace
}  // namespace giftsync::sync
