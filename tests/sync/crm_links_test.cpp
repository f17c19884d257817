// Opportunities, refused lookups, tasks and rematching, through the sync step against a real store and the
// SQL CRM, over every back end. The admin's hand is plain SQL.
#include "tests/sync/links_ground.h"

namespace giftsync::sync {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Rematch::Kind;

class CrmLinks : public LinksGround {};

INSTANTIATE_TEST_SUITE_P(BackEnds, CrmLinks, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(CrmLinks, RecordsContactAccountOpportunityAndItsStage) {
  add_contact_with_opportunities();
  const TransactionId gift = send("Ada@example.com");
  EXPECT_EQ(step().created, 1u);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
  EXPECT_EQ(record(gift, "account"), "a1");
  EXPECT_EQ(record(gift, "opportunity"), "o2");
  EXPECT_EQ(record(gift, "deal_stage"), "Closing");
  EXPECT_THAT(mirror(gift).decision.reason, AllOf(HasSubstr("Opportunity o2"), HasSubstr("rules ")));
}

TEST_P(CrmLinks, LeadsAndContactsWithOpportunityMatchingOffHaveNone) {
  add_contact_with_opportunities();
  sql("INSERT INTO crm_lead (id, email) VALUES ('l1', 'lea@example.com')");
  sql("INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) VALUES ('k9', 'l1', 'o1')");
  rules_.match_fields.opportunity.enabled = false;
  const TransactionId ada = send("ada@example.com");
  step();
  rules_.match_fields.opportunity.enabled = true;
  const TransactionId lea = send("lea@example.com");
  step();
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
  EXPECT_EQ(record(ada, "opportunity"), "null");
  EXPECT_EQ(record(ada, "account"), "a1");
  EXPECT_EQ(record(lea, "recipientleadid"), "l1");
  EXPECT_EQ(record(lea, "opportunity"), "null");
  EXPECT_EQ(record(lea, "account"), "null");
}

TEST_P(CrmLinks, ALookupThatVanishedBeforeTheWriteIsClearedAndListed) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  // Decided; then the daemon dies, and the contact is merged away before the record is written.
  GiftMirror decided{gift, MirrorState::decided, kNow, {}, 0, ""};
  decided.decision.contact_id = "c9";
  decided.decision.account_id = "a1";
  store_->sync.decide(std::span(&decided, 1));
  const SyncReport report = step();
  EXPECT_EQ(report.created, 1u);
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("Recipient Contact c9")));
  EXPECT_EQ(record(gift, "recipientcontactid"), "null");
  EXPECT_EQ(record(gift, "account"), "a1");
  EXPECT_TRUE(mirror(gift).needs_rematch);
  EXPECT_EQ(mirror(gift).decision.contact_id, "");
  EXPECT_THAT(mirror(gift).decision.warnings, HasSubstr("c9 is not in the CRM any more"));
  ASSERT_THAT(store_->sync.mirrors_to_rematch(RematchScope::needs_rematch, {0}, 10), SizeIs(1));
  const auto done = rematch_unmatched();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
  EXPECT_THAT(store_->sync.mirrors_to_rematch(RematchScope::needs_rematch, {0}, 10), IsEmpty());
}

TEST_P(CrmLinks, AnIntegrationUserWhoIsNotThereHoldsUpNothing) {
  rules_.integration_user = "u9";
  const TransactionId gift = send("ada@example.com");
  EXPECT_THAT(step().notes, ElementsAre("Actual Sender u9 is not in the CRM: the field stays empty"));
  EXPECT_EQ(record(gift, "ownerid"), "null");
  EXPECT_EQ(record(gift, "senderid"), "u1");
  EXPECT_FALSE(mirror(gift).needs_rematch);
}

TEST_P(CrmLinks, RematchLinksWhoMatchesNowAndRepeatsHarmlessly) {
  const TransactionId ada = send("ada@example.com");
  const TransactionId bob = send("bob@example.com");
  step();
  add_contact_with_opportunities();
  const auto would = rematch_unmatched(true);
  ASSERT_THAT(would, SizeIs(2));
  EXPECT_EQ(would[0].kind, Kind::relinked);
  EXPECT_EQ(would[0].to, (Associations{"c1", "a1", "", "o2"}));
  EXPECT_EQ(would[1].kind, Kind::unchanged);
  EXPECT_EQ(record(ada, "recipientcontactid"), "null") << "a dry run writes nothing";
  EXPECT_EQ(mirror(ada).decision.contact_id, "");
  EXPECT_EQ(rematch_unmatched()[0].kind, Kind::relinked);
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
  EXPECT_EQ(record(ada, "opportunity"), "o2");
  EXPECT_EQ(record(ada, "deal_stage"), "null") << "a rematch never fills it";
  EXPECT_THAT(mirror(ada).decision.reason, AllOf(HasSubstr("Decided anew on"), HasSubstr("Before: nobody")));
  EXPECT_EQ(mirror(bob).decision.contact_id, "");
  ASSERT_THAT(rematch_unmatched(), SizeIs(1)) << "only bob is left";
  report(ada, Status::opened, 5);
  step();
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
}

TEST_P(CrmLinks, RematchFinishesWhatAKilledOneBegan) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  // The CRM was written, the store was not.
  const GiftRelink half{gift, {}, {"c1", "a1", "", "o2"}};
  crm_->relink_gift_records(std::span(&half, 1));
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::unchanged);
  EXPECT_EQ(mirror(gift).decision.contact_id, "c1");
  EXPECT_THAT(rematch_unmatched(), IsEmpty());
}

TEST_P(CrmLinks, ACorrectionMadeByHandIsReportedAndOverwrittenOnlyByName) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'other@example.com')");
  sql("UPDATE crm_gift_record SET recipientcontactid = 'c2'");
  const auto kept = rematch_unmatched();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].kind, Kind::kept);
  EXPECT_THAT(kept[0].note, AllOf(HasSubstr("by hand to contact c2"), HasSubstr("--gift")));
  EXPECT_EQ(record(gift, "recipientcontactid"), "c2");
  const Rematch named = rematch_gift(gift);
  EXPECT_EQ(named.kind, Kind::relinked);
  EXPECT_THAT(named.note, HasSubstr("overwrites a link made by hand: contact c2"));
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
}

TEST_P(CrmLinks, TheDaemonNeverLinksAnew) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  report(gift, Status::opened, 5);
  EXPECT_EQ(step().updated, 1u);
  EXPECT_EQ(record(gift, "recipientcontactid"), "null");
}

TEST_P(CrmLinks, ASkippedGiftGetsItsRecordWithItsWholeHistory) {
  rules_.skip_unmatched = true;
  const TransactionId ada = send("ada@example.com");
  const TransactionId bob = send("bob@example.com");
  step();
  report(ada, Status::opened, 10);
  report(ada, Status::redeemed, 20);
  step();
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  add_contact_with_opportunities();
  EXPECT_EQ(rematch_unmatched(true)[0].kind, Kind::to_make);
  EXPECT_EQ(mirror(ada).state, MirrorState::skipped);
  const auto done = rematch_unmatched();
  EXPECT_EQ(done[0].kind, Kind::to_make);
  EXPECT_EQ(done[1].kind, Kind::unchanged) << "bob still matches nobody and the setting says skip";
  EXPECT_EQ(step(kNow + 1000).created, 1u);
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
  EXPECT_EQ(record(ada, "recipienttransactionstatus"), "redeemed");
  EXPECT_NE(record(ada, "opened_date_time"), "null");
  EXPECT_EQ(record(ada, "deal_stage"), "null");
  rules_.skip_unmatched = false;
  EXPECT_EQ(rematch_unmatched()[0].kind, Kind::to_make) << "turned to create, bob is not lost either";
  EXPECT_EQ(step(kNow + 1000).created, 1u);
  EXPECT_EQ(record(bob, "recipientcontactid"), "null");
  EXPECT_EQ(record(bob, "recipienttransactionstatus"), "sent");
}

TEST_P(CrmLinks, GiftsOfAConvertedLeadMoveToItsContact) {
  sql("INSERT INTO crm_lead (id, email) VALUES ('l1', 'ada@example.com'), ('l2', 'bob@example.com'), ('l3', "
      "'cy@example.com')");
  const TransactionId ada = send("ada@example.com");
  const TransactionId bob = send("bob@example.com");
  const TransactionId cy = send("cy@example.com");
  step();
  EXPECT_EQ(record(ada, "recipientleadid"), "l1");
  add_contact_with_opportunities();
  sql("UPDATE crm_contact SET email = 'another@example.com'");
  sql("UPDATE crm_lead SET isconverted = true, convertedcontactid = 'c1' WHERE id = 'l1'");
  sql("UPDATE crm_lead SET isconverted = true, convertedcontactid = 'c9' WHERE id = 'l2'");
  const auto done = rematch_converted();
  ASSERT_THAT(done, SizeIs(3));
  EXPECT_EQ(done[0].kind, Kind::relinked);
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
  EXPECT_EQ(record(ada, "recipientleadid"), "null");
  EXPECT_EQ(record(ada, "account"), "a1");
  EXPECT_EQ(record(ada, "opportunity"), "o2");
  EXPECT_EQ(record(ada, "deal_stage"), "null");
  EXPECT_EQ(done[1].kind, Kind::kept);
  EXPECT_THAT(done[1].note, HasSubstr("c9, which is not in the CRM"));
  EXPECT_EQ(record(bob, "recipientleadid"), "l2");
  EXPECT_EQ(done[2].kind, Kind::unchanged);
  EXPECT_EQ(record(cy, "recipientleadid"), "l3");
  EXPECT_THAT(rematch_converted(), SizeIs(2)) << "ada's is no lead's any more";
}

TEST_P(CrmLinks, ARecordDeletedInTheCrmIsReportedGone) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  sql("DELETE FROM crm_gift_record");
  EXPECT_EQ(rematch_gift(gift).kind, Kind::gone);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
}

TEST_P(CrmLinks, AMatchedLinkIsNotLostWhenNobodyMatchesAnyMore) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  GiftMirror decided{gift, MirrorState::decided, kNow, {}, 0, ""};
  decided.decision.contact_id = "c1";
  decided.decision.opportunity_id = "o9";
  store_->sync.decide(std::span(&decided, 1));
  step();
  sql("UPDATE crm_contact SET email = 'new@example.com'");
  const auto done = rematch_unmatched();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].kind, Kind::kept);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
}

/// Somebody else is left in the CRM, so that contacts are known to be kept there.
TEST_P(CrmLinks, WhatLeadsNowhereAnyMoreIsReplacedByWhoMatchesNow) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'ada@example.com')");
  sql("DELETE FROM crm_contact WHERE id = 'c1'");
  const GiftMirror read = mirror(gift);
  store_->backfill.note_lost_links(std::span(&read, 1));
  EXPECT_TRUE(mirror(gift).needs_rematch);
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c2");
  EXPECT_EQ(record(gift, "opportunity"), "null") << "the new contact has none";
  EXPECT_THAT(rematch_unmatched(), IsEmpty());
}

TEST_P(CrmLinks, WhatLeadsNowhereAnyMoreIsEmptiedWhenNobodyMatchesAndTheRestStays) {
  add_contact_with_opportunities();
  sql("INSERT INTO crm_account (id) VALUES ('a1')");
  const TransactionId gift = send("ada@example.com");
  step();
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'other@example.com')");
  sql("DELETE FROM crm_contact WHERE id = 'c1'");
  const GiftMirror read = mirror(gift);
  store_->backfill.note_lost_links(std::span(&read, 1));
  const auto would = rematch_unmatched(true);
  EXPECT_EQ(would.front().kind, Kind::relinked);
  EXPECT_EQ(would.front().to, (Associations{"", "a1", "", "o2"}));
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1") << "a dry run writes nothing";
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "null");
  EXPECT_EQ(record(gift, "account"), "a1");
  EXPECT_EQ(record(gift, "opportunity"), "o2");
  EXPECT_FALSE(mirror(gift).needs_rematch);
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::kept) << "what is left leads somewhere";
}

TEST_P(CrmLinks, ARecordThatGiftsyncDidNotWriteIsLinkedByNobody) {
  const TransactionId gift = send("ada@example.com");
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, name) VALUES ('old', " +
      std::to_string(gift.value) + ", 'Dinner')");
  EXPECT_EQ(step().failed, 1u);
  add_contact_with_opportunities();
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::kept);
  EXPECT_EQ(rematch_gift(gift).kind, Kind::kept);
  EXPECT_EQ(record(gift, "recipientcontactid"), "null");
  EXPECT_EQ(record(gift, "name"), "Dinner");
}

TEST_P(CrmLinks, OfACorrectionMadeByHandOnlyWhatLeadsNowhereIsEmptied) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'other@example.com')");
  sql("UPDATE crm_gift_record SET recipientcontactid = 'c2', opportunity = 'o3'");
  sql("DELETE FROM crm_opportunity WHERE id = 'o3'");
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c2");
  EXPECT_EQ(record(gift, "opportunity"), "null");
  sql("DELETE FROM crm_contact WHERE id = 'c2'");
  EXPECT_EQ(rematch_gift(gift).kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
}

TEST_P(CrmLinks, TasksAreOffByDefaultAndLaterOnesForNewGiftsOnly) {
  const TransactionId before = send("ada@example.com");
  step();
  rules_.tasks.enabled = true;
  const TransactionId after = send("bob@example.com");
  report(before, Status::opened, 5);
  const SyncReport report = step();
  EXPECT_EQ(report.tasks, 1u);
  const auto tasks = crm_->tasks({0}, 10);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].transaction, after);
}

TEST_P(CrmLinks, ATaskNamesTheContactOnlyAndIsCompletedByEachEndOfAGift) {
  rules_.tasks.enabled = true;
  sql("INSERT INTO crm_contact (id, email) VALUES ('c1', 'ada@example.com')");
  sql("INSERT INTO crm_lead (id, email) VALUES ('l1', 'lea@example.com')");
  const std::vector<TransactionId> gifts{send("ada@example.com"), send("lea@example.com"),
                                         send("x@example.com"), send("y@example.com"), send("z@example.com")};
  step();
  auto tasks = crm_->tasks({0}, 10);
  ASSERT_THAT(tasks, SizeIs(5));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(tasks[i].what_id, record(gifts[i], "id"));
    EXPECT_EQ(tasks[i].who_id, i == 0 ? "c1" : "");
    EXPECT_EQ(tasks[i].status, "Not Started");
    EXPECT_EQ(tasks[i].type, "Other");
    EXPECT_THAT(tasks[i].subject, HasSubstr("Coffee for Ada"));
  }
  const Status ends[] = {Status::redeemed, Status::donated, Status::expired, Status::refunded,
                         Status::opened};
  for (std::size_t i = 0; i < gifts.size(); ++i) report(gifts[i], ends[i], 10);
  step();
  tasks = crm_->tasks({0}, 10);
  ASSERT_THAT(tasks, SizeIs(5));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(tasks[i].status, "Completed") << i;
  EXPECT_EQ(tasks[4].status, "Not Started");
}

TEST_P(CrmLinks, ATaskIsCompletedOnceEvenAfterTasksWereTurnedOffAndThenLeftToTheAdmin) {
  rules_.tasks.enabled = true;
  const TransactionId gift = send("ada@example.com");
  step();
  rules_.tasks.enabled = false;
  report(gift, Status::redeemed, 10);
  step();
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Completed");
  sql("UPDATE crm_task SET status = 'In Progress'");
  report(gift, Status::refunded, 20);
  step();
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "In Progress");
  sql("DELETE FROM crm_task");
  report(gift, Status::opened, 1);
  step();
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "0");
}

TEST_P(CrmLinks, ATaskIsCompletedThoughItsGiftsRecordWasDeleted) {
  rules_.tasks.enabled = true;
  const TransactionId gift = send("ada@example.com");
  step();
  sql("DELETE FROM crm_gift_record");
  report(gift, Status::opened, 10);
  step();
  EXPECT_EQ(mirror(gift).state, MirrorState::gone);
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Not Started");
  report(gift, Status::redeemed, 20);
  EXPECT_EQ(step().tasks, 1u);
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Completed");
  EXPECT_EQ(mirror(gift).task, TaskState::completed);
  EXPECT_EQ(mirror(gift).state, MirrorState::gone);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
}

TEST_P(CrmLinks, ATaskDeletedByHandIsNotMadeAgain) {
  rules_.tasks.enabled = true;
  const TransactionId gift = send("ada@example.com");
  step();
  sql("DELETE FROM crm_task");
  report(gift, Status::redeemed, 10);
  EXPECT_THAT(step().notes, ElementsAre(HasSubstr("task was deleted")));
  report(gift, Status::refunded, 20);
  EXPECT_THAT(step().notes, IsEmpty()) << "said once";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "0");
}

TEST_P(CrmLinks, ASkippedGiftHasNoTaskUntilItHasARecord) {
  rules_.tasks.enabled = true;
  rules_.skip_unmatched = true;
  send("ada@example.com");
  step();
  EXPECT_THAT(crm_->tasks({0}, 10), IsEmpty());
  add_contact_with_opportunities();
  rematch_unmatched();
  step(kNow + 1000);
  ASSERT_THAT(crm_->tasks({0}, 10), SizeIs(1));
  EXPECT_EQ(crm_->tasks({0}, 10)[0].who_id, "c1");
}

}  // namespace
}  // namespace giftsync::sync
