// Opportunities, refused lookups, tasks and rematching, through the sync step against a real store and the
// SQL CRMs, on every back end. An admin's edits are plain SQL.
#include "tests/support/crm_links_fixture.h"
#include "tests/support/log_lines.h"

namespace giftsync::sync {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = matching::RematchResult::Kind;

class CrmLinks : public tests::CrmLinksFixture {};

INSTANTIATE_TEST_SUITE_P(BackEnds, CrmLinks, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(CrmLinks, RecordsContactAccountOpportunityAndItsStage) {
  add_contact_with_opportunities();
  const TransactionId gift = send("Ada@example.com");
  EXPECT_EQ(step().created, 1u);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
  EXPECT_EQ(record(gift, "account"), "a1");
  EXPECT_EQ(record(gift, "opportunity"), "o2");
  EXPECT_EQ(record(gift, "deal_stage"), "Closing");
  EXPECT_THAT(sync_state(gift).decision.reason, AllOf(HasSubstr("Opportunity o2"), HasSubstr("rules ")));
}

TEST_P(CrmLinks, NoOpportunityForLeadsOrWithOpportunityMatchingOff) {
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

// SYNC-17, MATCH-30
TEST_P(CrmLinks, LookupDeletedBeforeTheWriteIsClearedAndListed) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  // Decided; then the daemon is killed, and the contact is merged away before the record is written.
  store::CrmSyncState decided{gift, store::CrmSyncStatus::decided, tests::kNow, {}, 0, ""};
  decided.decision.contact_id = "c9";
  decided.decision.account_id = "a1";
  store_->sync.insert_decisions(std::span(&decided, 1));
  const SyncStepStats report = step();
  EXPECT_EQ(report.created, 1u);
  EXPECT_THAT(tests::messages_of(report.warnings), testing::Contains(HasSubstr("Recipient Contact c9")));
  EXPECT_THAT(tests::fields_text(report.warnings.front()),
              testing::StartsWith("gift=" + std::to_string(gift.value) + " "));  // OPS-47
  EXPECT_EQ(record(gift, "recipientcontactid"), "null");
  EXPECT_EQ(record(gift, "account"), "a1");
  EXPECT_TRUE(sync_state(gift).needs_relink);
  EXPECT_EQ(sync_state(gift).decision.contact_id, "");
  EXPECT_THAT(sync_state(gift).decision.warnings, HasSubstr("c9 is not in the CRM any more"));
  ASSERT_THAT(store_->sync.list_states_to_rematch(store::RematchScope::needs_relink, {0}, 10), SizeIs(1));
  const auto done = rematch_unmatched();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
  EXPECT_THAT(store_->sync.list_states_to_rematch(store::RematchScope::needs_relink, {0}, 10), IsEmpty());
}

TEST_P(CrmLinks, MissingIntegrationUserDoesNotBlockTheWrite) {
  rules_.integration_user = "u9";
  const TransactionId gift = send("ada@example.com");
  EXPECT_THAT(tests::messages_of(step().warnings),
              ElementsAre("Actual Sender u9 is not in the CRM: the field stays empty"));
  EXPECT_EQ(record(gift, "ownerid"), "null");
  EXPECT_EQ(record(gift, "senderid"), "u1");
  EXPECT_FALSE(sync_state(gift).needs_relink);
}

TEST_P(CrmLinks, RematchLinksCurrentMatchAndIsIdempotent) {
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
  EXPECT_EQ(sync_state(ada).decision.contact_id, "");
  EXPECT_EQ(rematch_unmatched()[0].kind, Kind::relinked);
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
  EXPECT_EQ(record(ada, "opportunity"), "o2");
  EXPECT_EQ(record(ada, "deal_stage"), "null") << "a rematch never fills it";
  EXPECT_THAT(sync_state(ada).decision.reason,
              AllOf(HasSubstr("Matched again on"), HasSubstr("Before: no one")));
  EXPECT_EQ(sync_state(bob).decision.contact_id, "");
  ASSERT_THAT(rematch_unmatched(), SizeIs(1)) << "only bob is left";
  report(ada, Status::opened, 5);
  step();
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
}

// MATCH-28
TEST_P(CrmLinks, RematchCompletesAnInterruptedRematch) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  // The CRM was written, the store was not.
  const crm::GiftRelink half{gift, {}, {"c1", "a1", "", "o2"}};
  crm_->gift_records().relink(std::span(&half, 1));
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::unchanged);
  EXPECT_EQ(sync_state(gift).decision.contact_id, "c1");
  EXPECT_THAT(rematch_unmatched(), IsEmpty());
}

// MATCH-26
TEST_P(CrmLinks, ManualCorrectionIsReportedAndOverwrittenOnlyWithGiftOption) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'other@example.com')");
  sql("UPDATE crm_gift_record SET recipientcontactid = 'c2'");
  const auto kept = rematch_unmatched();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].kind, Kind::kept);
  EXPECT_THAT(kept[0].detail, AllOf(HasSubstr("linked manually to contact c2"), HasSubstr("--gift")));
  EXPECT_EQ(record(gift, "recipientcontactid"), "c2");
  const matching::RematchResult named = rematch_gift(gift);
  EXPECT_EQ(named.kind, Kind::relinked);
  EXPECT_THAT(named.detail, HasSubstr("overwrites a manual link: contact c2"));
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
}

// MATCH-25
TEST_P(CrmLinks, SyncStepNeverRelinks) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  report(gift, Status::opened, 5);
  EXPECT_EQ(step().updated, 1u);
  EXPECT_EQ(record(gift, "recipientcontactid"), "null");
}

// MATCH-21
TEST_P(CrmLinks, SkippedGiftGetsRecordWithFullHistory) {
  rules_.skip_unmatched = true;
  const TransactionId ada = send("ada@example.com");
  const TransactionId bob = send("bob@example.com");
  step();
  report(ada, Status::opened, 10);
  report(ada, Status::redeemed, 20);
  step();
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  add_contact_with_opportunities();
  EXPECT_EQ(rematch_unmatched(true)[0].kind, Kind::to_create);
  EXPECT_EQ(sync_state(ada).state, store::CrmSyncStatus::skipped);
  const auto done = rematch_unmatched();
  EXPECT_EQ(done[0].kind, Kind::to_create);
  EXPECT_EQ(done[1].kind, Kind::unchanged) << "bob still has no match and the setting is skip";
  EXPECT_EQ(step(tests::kNow + 1000).created, 1u);
  EXPECT_EQ(record(ada, "recipientcontactid"), "c1");
  EXPECT_EQ(record(ada, "recipienttransactionstatus"), "redeemed");
  EXPECT_NE(record(ada, "opened_date_time"), "null");
  EXPECT_EQ(record(ada, "deal_stage"), "null");
  rules_.skip_unmatched = false;
  EXPECT_EQ(rematch_unmatched()[0].kind, Kind::to_create) << "with the setting create, bob gets a record too";
  EXPECT_EQ(step(tests::kNow + 1000).created, 1u);
  EXPECT_EQ(record(bob, "recipientcontactid"), "null");
  EXPECT_EQ(record(bob, "recipienttransactionstatus"), "sent");
}

// MATCH-29
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
  EXPECT_THAT(done[1].detail, HasSubstr("c9, which is not in the CRM"));
  EXPECT_EQ(record(bob, "recipientleadid"), "l2");
  EXPECT_EQ(done[2].kind, Kind::unchanged);
  EXPECT_EQ(record(cy, "recipientleadid"), "l3");
  EXPECT_THAT(rematch_converted(), SizeIs(2)) << "ada's gift has no lead any more";
}

// covers: GUARD-17
TEST_P(CrmLinks, NoRematchNamesAnErasedPersonAgain) {
  sql("INSERT INTO crm_lead (id, email) VALUES ('l1', 'ada@example.com')");
  const TransactionId gift = send("ada@example.com");
  step();
  sql("UPDATE recipient_transaction SET email = 'erased:0123456789abcdef01234567', first_name = 'erased'");
  sql("UPDATE crm_sync_state SET reason = 'erased'");
  sql("INSERT INTO crm_contact (id, email, firstname, lastname) VALUES ('c1', 'ada@example.com', 'Ada', "
      "'Byron')");
  sql("UPDATE crm_lead SET isconverted = true, convertedcontactid = 'c1' WHERE id = 'l1'");
  const auto converted = rematch_converted();
  ASSERT_THAT(converted, SizeIs(1));
  for (const matching::RematchResult& result : {converted.front(), rematch_gift(gift)}) {
    EXPECT_EQ(result.kind, Kind::kept);
    EXPECT_EQ(result.detail, "its recipient was erased");
  }
  EXPECT_EQ(scalar("SELECT reason FROM crm_sync_state"), "erased");
  EXPECT_EQ(record(gift, "recipientleadid"), "l1");
}

TEST_P(CrmLinks, RecordDeletedInCrmIsReported) {
  const TransactionId gift = send("ada@example.com");
  step();
  add_contact_with_opportunities();
  sql("DELETE FROM crm_gift_record");
  EXPECT_EQ(rematch_gift(gift).kind, Kind::not_found);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
}

// MATCH-27
TEST_P(CrmLinks, MatchedLinkIsKeptWhenThereIsNoMatchAnymore) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  store::CrmSyncState decided{gift, store::CrmSyncStatus::decided, tests::kNow, {}, 0, ""};
  decided.decision.contact_id = "c1";
  decided.decision.opportunity_id = "o9";
  store_->sync.insert_decisions(std::span(&decided, 1));
  step();
  sql("UPDATE crm_contact SET email = 'new@example.com'");
  const auto done = rematch_unmatched();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].kind, Kind::kept);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1");
}

/// Another contact is left in the CRM, so that its contacts are known not to be empty. (SYNC-64)
TEST_P(CrmLinks, DeadLookupsAreReplacedByCurrentMatch) {
  add_contact_with_opportunities();
  const TransactionId gift = send("ada@example.com");
  step();
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'ada@example.com')");
  sql("DELETE FROM crm_contact WHERE id = 'c1'");
  const store::CrmSyncState read = sync_state(gift);
  store_->backfill.mark_needs_relink(std::span(&read, 1));
  EXPECT_TRUE(sync_state(gift).needs_relink);
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "c2");
  EXPECT_EQ(record(gift, "opportunity"), "null") << "the new contact has none";
  EXPECT_THAT(rematch_unmatched(), IsEmpty());
}

TEST_P(CrmLinks, DeadLookupsAreClearedWithoutAMatchAndOthersKept) {
  add_contact_with_opportunities();
  sql("INSERT INTO crm_account (id) VALUES ('a1')");
  const TransactionId gift = send("ada@example.com");
  step();
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'other@example.com')");
  sql("DELETE FROM crm_contact WHERE id = 'c1'");
  const store::CrmSyncState read = sync_state(gift);
  store_->backfill.mark_needs_relink(std::span(&read, 1));
  const auto would = rematch_unmatched(true);
  EXPECT_EQ(would.front().kind, Kind::relinked);
  EXPECT_EQ(would.front().to, (Associations{"", "a1", "", "o2"}));
  EXPECT_EQ(record(gift, "recipientcontactid"), "c1") << "a dry run writes nothing";
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::relinked);
  EXPECT_EQ(record(gift, "recipientcontactid"), "null");
  EXPECT_EQ(record(gift, "account"), "a1");
  EXPECT_EQ(record(gift, "opportunity"), "o2");
  EXPECT_FALSE(sync_state(gift).needs_relink);
  EXPECT_EQ(rematch_unmatched().front().kind, Kind::kept) << "the remaining lookups exist";
}

TEST_P(CrmLinks, RecordNotWrittenByGiftsyncIsNotRelinked) {
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

// SYNC-64
TEST_P(CrmLinks, OnlyDeadLookupsOfAManualCorrectionAreCleared) {
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

// SYNC-32
TEST_P(CrmLinks, TasksAreOffByDefaultAndApplyToNewGiftsOnly) {
  const TransactionId before = send("ada@example.com");
  step();
  rules_.tasks.enabled = true;
  const TransactionId after = send("bob@example.com");
  report(before, Status::opened, 5);
  const SyncStepStats report = step();
  EXPECT_EQ(report.tasks, 1u);
  const auto tasks = crm_->tasks().page({0}, 10);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].transaction, after);
}

// SYNC-30
TEST_P(CrmLinks, TaskNamesTheContactAndEveryFinalStatusCompletesIt) {
  rules_.tasks.enabled = true;
  sql("INSERT INTO crm_contact (id, email) VALUES ('c1', 'ada@example.com')");
  sql("INSERT INTO crm_lead (id, email) VALUES ('l1', 'lea@example.com')");
  const std::vector<TransactionId> gifts{send("ada@example.com"), send("lea@example.com"),
                                         send("x@example.com"), send("y@example.com"), send("z@example.com")};
  step();
  auto tasks = crm_->tasks().page({0}, 10);
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
  tasks = crm_->tasks().page({0}, 10);
  ASSERT_THAT(tasks, SizeIs(5));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(tasks[i].status, "Completed") << i;
  EXPECT_EQ(tasks[4].status, "Not Started");
}

// SYNC-33
TEST_P(CrmLinks, TaskIsCompletedOnceAfterTasksAreTurnedOff) {
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

TEST_P(CrmLinks, TaskIsCompletedAfterGiftRecordWasDeleted) {
  rules_.tasks.enabled = true;
  const TransactionId gift = send("ada@example.com");
  step();
  sql("DELETE FROM crm_gift_record");
  report(gift, Status::opened, 10);
  step();
  EXPECT_EQ(sync_state(gift).state, store::CrmSyncStatus::deleted);
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Not Started");
  report(gift, Status::redeemed, 20);
  EXPECT_EQ(step().tasks, 1u);
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Completed");
  EXPECT_EQ(sync_state(gift).task, store::TaskState::completed);
  EXPECT_EQ(sync_state(gift).state, store::CrmSyncStatus::deleted);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
}

TEST_P(CrmLinks, TaskDeletedManuallyIsNotRecreated) {
  rules_.tasks.enabled = true;
  const TransactionId gift = send("ada@example.com");
  step();
  sql("DELETE FROM crm_task");
  report(gift, Status::redeemed, 10);
  EXPECT_THAT(tests::messages_of(step().warnings), ElementsAre(HasSubstr("task was deleted")));
  report(gift, Status::refunded, 20);
  EXPECT_THAT(step().warnings, IsEmpty()) << "warned once";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "0");
}

TEST_P(CrmLinks, SkippedGiftHasNoTaskUntilItHasARecord) {
  rules_.tasks.enabled = true;
  rules_.skip_unmatched = true;
  send("ada@example.com");
  step();
  EXPECT_THAT(crm_->tasks().page({0}, 10), IsEmpty());
  add_contact_with_opportunities();
  rematch_unmatched();
  step(tests::kNow + 1000);
  ASSERT_THAT(crm_->tasks().page({0}, 10), SizeIs(1));
  EXPECT_EQ(crm_->tasks().page({0}, 10)[0].who_id, "c1");
}

}  // namespace
}  // namespace giftsync::sync
