// The sync step over a real store and the adapter: what an org gets, and how many calls it costs.
#include "platform/dependency_error.h"
#include "sync/crm/crm_reconciliation.h"
#include "tests/salesforce/salesforce_sync_fixture.h"

namespace giftsync::salesforce {
namespace {
using testing::IsEmpty;
using testing::SizeIs;

// SYNC-69
TEST_F(SalesforceSyncTest, AThousandGiftsWithTasksCostThreeCallsToCreateAndEightForTheirLives) {
  add_contacts(1000);
  const std::vector<TransactionId> gifts = store_.create_gifts(1000);
  const sync::SyncStepStats created = step(0);
  EXPECT_EQ(created.created, 1000U);
  EXPECT_EQ(created.tasks, 1000U);
  EXPECT_THAT(created.warnings, IsEmpty());
  EXPECT_EQ(calls(), 3) << "people, gift records, tasks";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record g JOIN crm_contact c ON c.id = g.recipientcontactid "
                   "JOIN crm_opportunity o ON o.id = g.opportunity WHERE g.account = c.accountid AND "
                   "g.deal_stage = 'Prospecting' AND g.senderid = '" +
                   user_ + "'"),
            "1000");
  EXPECT_EQ(
      scalar("SELECT count(*) FROM crm_task t JOIN crm_gift_record g ON g.id = t.whatid WHERE t.whoid = "
             "g.recipientcontactid"),
      "1000");
  std::int64_t after = kMinuteMillis;
  for (const Status status : {Status::delivered, Status::opened, Status::expired, Status::refunded}) {
    report(gifts, status, after);
    after += kMinuteMillis;
    EXPECT_EQ(step(after).updated, 1000U) << giftsync::to_word(status);
  }
  EXPECT_EQ(calls(), 8) << "four waves of a status, and one of tasks";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE recipienttransactionstatus = 'refunded'"),
            "1000");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task WHERE status = 'Completed'"), "1000");
  step(after);
  EXPECT_EQ(calls(), 8) << "nothing is left to do";
}

constexpr char kRelatedTasks[] =
    "SELECT count(*) FROM crm_task t JOIN crm_gift_record g ON g.id = t.whatid AND "
    "g.recipienttransactionid = t.recipienttransactionid";

// ORG-20
TEST_F(SalesforceSyncTest, OneGiftCostsThreeCallsFromRequestToDelivered) {
  add_contacts(1);
  const std::vector<TransactionId> gifts = store_.create_gifts(1);
  const sync::SyncStepStats created = step(0);
  EXPECT_EQ(created.created, 1U);
  EXPECT_EQ(created.tasks, 1U);
  EXPECT_THAT(created.warnings, IsEmpty());
  EXPECT_EQ(calls(), 2) << "matching, and the record with its task";
  EXPECT_EQ(scalar(kRelatedTasks), "1");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task t JOIN crm_gift_record g ON g.recipientcontactid = t.whoid "
                   "WHERE t.subject LIKE 'Gift sent: %' AND t.status = 'Not Started'"),
            "1");
  const auto states = store_->sync.find_states(gifts);
  EXPECT_EQ(states[0].task, store::TaskState::open);
  EXPECT_EQ(states[0].task_crm_id, scalar("SELECT id FROM crm_task"));
  report(gifts, Status::delivered, kMinuteMillis);
  EXPECT_EQ(step(2 * kMinuteMillis).updated, 1U);
  EXPECT_EQ(calls(), 3);
  report(gifts, Status::redeemed, 3 * kMinuteMillis);
  EXPECT_EQ(step(4 * kMinuteMillis).tasks, 1U);
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Completed");
}

// ORG-20, SYNC-33
TEST_F(SalesforceSyncTest, AGiftThatIsOverBeforeItsRecordIsMadeGetsACompletedTaskAtOnce) {
  const std::vector<TransactionId> gifts = store_.create_gifts(1);
  report(gifts, Status::redeemed, kMinuteMillis);
  EXPECT_EQ(step(2 * kMinuteMillis).tasks, 1U);
  EXPECT_EQ(calls(), 2);
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Completed");
  EXPECT_EQ(store_->sync.find_states(gifts)[0].task, store::TaskState::completed);
}

// SYNC-75
TEST_F(SalesforceSyncTest, AnInactiveSendersGiftAndTaskAreOfTheFallbackOwner) {
  const std::string former = insert("crm_user", "username, lastname, name, email, isactive",
                                    "'former', 'F', 'F', 'former@example.com', 0");
  const std::string fallback =
      insert("crm_user", "username, lastname, name, isactive", "'fallback', 'B', 'B', 1");
  sql("UPDATE crm_user SET email = 'integration@example.com' WHERE id = '" + user_ + "'");
  sql("UPDATE crm_user SET email = 'sam@example.com' WHERE id = '" + former + "'");
  const auto owners = [&] {
    return scalar(
        "SELECT group_concat(DISTINCT g.ownerid || ' ' || t.ownerid || ' ' || g.senderid) FROM "
        "crm_gift_record g JOIN crm_task t ON t.whatid = g.id");
  };
  store_.create_gifts(2);
  EXPECT_EQ(step(0).tasks, 2U);
  EXPECT_EQ(owners(), user_ + " " + user_ + " " + former) << "the org refuses them, and gets its own user";
  sql("DELETE FROM crm_task");
  sql("DELETE FROM crm_gift_record");
  rules_.fallback_owner = fallback;
  store_.create_gifts(2);
  const int before = calls();
  EXPECT_EQ(step(0).tasks, 2U);
  EXPECT_EQ(owners(), fallback + " " + fallback + " " + former);
  EXPECT_EQ(calls() - before, 3) << "people, their owner, and records with tasks";
}

// SYNC-76, SYNC-77
TEST_F(SalesforceSyncTest, TheTemplateOfTasksCostsNoCallAndTheOwnersOfAccountsOne) {
  add_contacts(1);
  const std::string owner = insert("crm_user", "username, lastname, name, isactive", "'olga', 'O', 'O', 1");
  sql("UPDATE crm_account SET ownerid = '" + owner + "'");
  rules_.tasks.subject = "{item} for {recipient}";
  rules_.tasks.description = "{link}";
  rules_.tasks.due_days = 5;
  rules_.tasks.assignee = sync::TaskAssignee::account_owner;
  store_.create_gifts(1);
  EXPECT_EQ(step(0).tasks, 1U);
  EXPECT_EQ(calls(), 3) << "people, owners, and the record with its task";
  EXPECT_EQ(scalar("SELECT description || ' ' || activitydate || ' ' || ownerid FROM crm_task"),
            "https://gifts.test/g/x 2023-11-19 " + owner);
}

// SYNC-76, ORG-21
TEST_F(SalesforceSyncTest, ATaskTextThatReadsAsAReferenceStaysText) {
  rules_.tasks.description = "by {sender}";
  store::NewGiftRequest made;
  made.request.account = {1};
  made.request.gift = {7};
  made.request.sender_email = "sam@example.com";
  made.request.sender_name = "@{w0[0].id}";
  made.request.created_at = kSentAt;
  made.recipients.push_back({"ada@example.com", "", "", "Hi"});
  store_->gifts.create(std::span(&made, 1));
  EXPECT_EQ(step(0).tasks, 1U);
  EXPECT_EQ(scalar("SELECT description FROM crm_task"), "by @{w0[0].id}");
}

// ORG-20
TEST_F(SalesforceSyncTest, ABatchThatDoesNotFitOneCallHasItsTasksInASecondOne) {
  crm_ = make_crm({.most_rows = kLeastRows});
  int before = calls();
  store_.create_gifts(kLeastRows / 2);
  EXPECT_EQ(step(0).tasks, kLeastRows / 2);
  EXPECT_EQ(calls() - before, 2);
  before = calls();
  store_.create_gifts(kLeastRows / 2 + 1);
  EXPECT_EQ(step(0).tasks, kLeastRows / 2 + 1);
  EXPECT_EQ(calls() - before, 3) << "26 rows";
  EXPECT_EQ(scalar(kRelatedTasks), "25");
}

// ORG-20
TEST_F(SalesforceSyncTest, AnOrgThatTakesNoReferencesGetsTheTasksInASecondCall) {
  server_.with_org([](Org& org) { org.set("refuses_references", "true"); });
  const std::vector<TransactionId> gifts = store_.create_gifts(20);
  const sync::SyncStepStats stats = step(0);
  EXPECT_EQ(stats.created, 20U);
  EXPECT_EQ(stats.tasks, 20U);
  EXPECT_EQ(stats.failed, 0U);
  EXPECT_EQ(calls(), 3);
  EXPECT_EQ(scalar(kRelatedTasks), "20");
}

/// Also in an org that ran the part all the same.
// ORG-20
TEST_F(SalesforceSyncTest, ARefusedRecordLeavesNoTaskWithoutItsRelation) {
  for (const char* empty_references : {"", "true"}) {
    SCOPED_TRACE(empty_references);
    sql("DELETE FROM crm_gift_record; DELETE FROM crm_task");
    server_.with_org([&](Org& org) { org.set("empty_references", empty_references); });
    const std::vector<TransactionId> gifts = store_.create_gifts(2);
    fault({{"kind", "rule"},
           {"object", "Gift_Record__c"},
           {"formula", "RecipientTransactionId__c = " + std::to_string(gifts[1].value)},
           {"message", "No gifts on Tuesdays."},
           {"times", 0}});
    sync::SyncStepStats stats = step(0);
    EXPECT_EQ(stats.created, 1U);
    EXPECT_EQ(stats.tasks, 1U);
    EXPECT_EQ(stats.failed, 1U);
    const auto states = store_->sync.find_states(gifts);
    EXPECT_EQ(states[0].task, store::TaskState::open);
    EXPECT_EQ(states[1].task, store::TaskState::wanted);
    EXPECT_EQ(states[1].task_crm_id, "");
    EXPECT_EQ(scalar(kRelatedTasks), "1");
    server_.with_org([](Org& org) { org.faults().clear(); });
    store_->sync.reset_rejected(gifts, kSentAt + 1);
    stats = step(kMinuteMillis);
    EXPECT_EQ(stats.created, 1U);
    EXPECT_EQ(stats.tasks, 1U);
    EXPECT_EQ(scalar(kRelatedTasks), "2");
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "2");
    EXPECT_EQ(store_->sync.find_states(gifts)[1].task, store::TaskState::open);
  }
}

// ORG-20
TEST_F(SalesforceSyncTest, ALostAnswerMakesOneRecordAndOneTask) {
  for (const char* when : {"before_commit", "after_commit"}) {
    SCOPED_TRACE(when);
    sql("DELETE FROM crm_gift_record; DELETE FROM crm_task");
    fault({{"kind", "cut"}, {"when", when}, {"path", "/composite"}, {"skip", 1}});
    const std::vector<TransactionId> gifts = store_.create_gifts(1);
    EXPECT_EQ(step(0).created, 1U);
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "1");
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "1");
    EXPECT_EQ(scalar(kRelatedTasks), "1");
    EXPECT_EQ(store_->sync.find_states(gifts)[0].task, store::TaskState::open);
  }
}

/// The contact of the record is cleared, so the task's must be too.
// ORG-20, SYNC-17
TEST_F(SalesforceSyncTest, ATaskIsNotMadeForTheContactThatItsRecordLost) {
  server_.with_org([](Org& org) { org.add_user("admin@example.com", "Admin"); });
  add_contacts(1);
  fault({{"kind", "interleave"},
         {"part", 0},
         {"skip", 1},
         {"user", "admin@example.com"},
         {"method", "DELETE"},
         {"url", "/services/data/v62.0/sobjects/Contact/" + scalar("SELECT id FROM crm_contact")}});
  store_.create_gifts(1);
  const sync::SyncStepStats stats = step(0);
  EXPECT_EQ(stats.created, 1U);
  EXPECT_EQ(stats.tasks, 1U);
  EXPECT_EQ(scalar(kRelatedTasks), "1");
  EXPECT_EQ(scalar("SELECT recipientcontactid FROM crm_gift_record"), "null");
  EXPECT_EQ(scalar("SELECT whoid FROM crm_task"), "null");
}

// ORG-21
TEST_F(SalesforceSyncTest, ATextThatReadsAsAReferenceIsWrittenAsItIs) {
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.item_name = "Mug @{size}";
  request.request.created_at = kSentAt;
  request.recipients.push_back({"ada@example.com", "Ada", "", "Hello @{name}"});
  const auto made = store_->gifts.create(std::span(&request, 1));
  const TransactionId odd = made.front().recipients.front().id;
  store_.create_gifts(2);
  const sync::SyncStepStats stats = step(0);
  EXPECT_EQ(stats.created, 3U);
  EXPECT_EQ(stats.tasks, 3U);
  EXPECT_EQ(stats.failed, 0U);
  EXPECT_EQ(calls(), 4) << "matching, the others with their tasks, the row by itself, its task";
  EXPECT_EQ(scalar(kRelatedTasks), "3");
  EXPECT_EQ(record(odd.value).get(GiftField::message), FieldValue(std::string("Hello @{name}")));
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task WHERE subject LIKE '%@{size}%'"),
            scalar("SELECT count(*) FROM crm_gift_record WHERE name LIKE '%@{size}%'"));
  report({odd}, Status::delivered, kMinuteMillis);
  EXPECT_EQ(step(2 * kMinuteMillis).updated, 1U);
  fault({{"kind", "cut"}, {"when", "after_commit"}, {"path", "/composite/sobjects"}});
  crm::GiftUpsert lost = upsert(7'000, 1);
  lost.record.set(GiftField::message, std::string("Hello @{name}"));
  EXPECT_THAT(kinds({lost}), testing::ElementsAre(Kind::created)) << "the answer is asked for again";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE recipienttransactionid = 7000"), "1");
}

// ORG-21
TEST_F(SalesforceSyncTest, ARefusalOfARowThatIsSentByItselfIsOneOfTheRow) {
  crm::GiftUpsert row = upsert(1, 1);
  row.record.set(GiftField::message, std::string("Hello @{name}"));
  fault({{"kind", "refusal"},
         {"status", 403},
         {"code", "REQUEST_LIMIT_EXCEEDED"},
         {"message", "TotalRequests Limit exceeded."},
         {"path", "/composite/sobjects"}});
  EXPECT_THROW(write({row}), giftsync::DependencyPause);
  EXPECT_TRUE(crm_->usage()->paused_until) << "it was of the whole call";
  crm_ = make_crm();
  fault({{"kind", "rule"},
         {"object", "Gift_Record__c"},
         {"formula", "RecipientTransactionId__c = 1"},
         {"message", "No gifts on Tuesdays."},
         {"times", 0}});
  EXPECT_THAT(kinds({row, upsert(2, 1)}), testing::ElementsAre(Kind::rejected, Kind::created));
}

TEST_F(SalesforceSyncTest, ARecordThatWasDeletedIsReportedAndItsTaskIsCompleted) {
  const std::vector<TransactionId> gifts = store_.create_gifts(2);
  step(0);
  sql("UPDATE crm_gift_record SET isdeleted = 1 WHERE recipienttransactionid = " +
      std::to_string(gifts[0].value));
  report(gifts, Status::redeemed, kMinuteMillis);
  const sync::SyncStepStats stats = step(2 * kMinuteMillis);
  EXPECT_EQ(stats.updated, 1U);
  EXPECT_EQ(stats.failed, 1U);
  EXPECT_EQ(stats.tasks, 2U);
  const auto states = store_->sync.find_states(gifts);
  ASSERT_THAT(states, SizeIs(2));
  EXPECT_EQ(states[0].state, store::CrmSyncStatus::deleted);
  EXPECT_EQ(states[0].crm_id, "");
  EXPECT_EQ(states[1].crm_id, scalar("SELECT id FROM crm_gift_record WHERE isdeleted = 0"));
}

// ORG-12
TEST_F(SalesforceSyncTest, ARecordWhoseVersionIsAheadIsRefusedUntilABackfillTakesItOver) {
  const std::vector<TransactionId> gifts = store_.create_gifts(1);
  EXPECT_EQ(step(0).created, 1U);
  sql("UPDATE crm_gift_record SET record_version = 900");
  report(gifts, Status::delivered, kMinuteMillis);
  const sync::SyncStepStats stats = step(2 * kMinuteMillis);
  EXPECT_EQ(stats.failed, 1U);
  EXPECT_EQ(stats.unchanged, 0U);
  const auto states = store_->sync.find_states(gifts);
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_EQ(states[0].state, store::CrmSyncStatus::rejected);
  EXPECT_THAT(states[0].error, testing::HasSubstr("giftsyncctl backfill gift-records"));
  EXPECT_NE(states[0].crm_id, "");
  EXPECT_EQ(scalar("SELECT recipienttransactionstatus FROM crm_gift_record"), "sent") << "not overwritten";
  const auto wait = store_->sync.find_wait(gifts[0]);
  ASSERT_TRUE(wait && wait->is_rejected);
  EXPECT_GE(wait->next_attempt_at.value, kSentAt.value + 6 * kHourMillis);
  const int before = calls();
  step(3 * kMinuteMillis);
  EXPECT_EQ(calls(), before) << "it is tried rarely";

  const sync::ReconciliationRules rules{rules_, false, false};
  const auto batch = sync::reconcile_gift_records(*store_, *crm_, rules, {0}, kSentAt + 4 * kMinuteMillis);
  ASSERT_THAT(batch.findings, SizeIs(1));
  EXPECT_EQ(batch.findings[0].kind, sync::ReconciliationFinding::Kind::repaired);
  EXPECT_THAT(batch.to_write, testing::ElementsAre(gifts[0]));
  EXPECT_EQ(step(5 * kMinuteMillis).updated, 1U);
  EXPECT_EQ(record(gifts[0].value).version, 901);
  EXPECT_EQ(scalar("SELECT recipienttransactionstatus FROM crm_gift_record"), "delivered");
  EXPECT_EQ(store_->sync.find_states(gifts)[0].state, store::CrmSyncStatus::written);
}

// SYNC-71
TEST_F(SalesforceSyncTest, WhatTheOrgMakesOfAValueIsNoDrift) {
  rules_.integration_user = user_;  // every record of an org has an owner
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.item_name = "Coffee";
  request.request.created_at = kSentAt + 890;
  request.recipients.push_back({std::string(70, 'a') + "@long.example.com", "Ada", "", "  Thank you!\n"});
  request.recipients.push_back({"ada@example.com", "Ada", "", "   "});
  store_->gifts.create(std::span(&request, 1));
  EXPECT_EQ(step(1000).created, 2U);
  const sync::ReconciliationRules rules{rules_, false, false};
  const auto batch = sync::reconcile_gift_records(*store_, *crm_, rules, {0}, kSentAt + 2000);
  ASSERT_THAT(batch.findings, SizeIs(2));
  for (const sync::ReconciliationFinding& one : batch.findings) {
    EXPECT_EQ(one.kind, sync::ReconciliationFinding::Kind::unchanged);
    for (const sync::FieldDrift& drift : one.differences)
      ADD_FAILURE() << descriptor_of(drift.field).name << ": " << drift.in_crm << ", not " << drift.wanted;
  }
}

}  // namespace
}  // namespace giftsync::salesforce
