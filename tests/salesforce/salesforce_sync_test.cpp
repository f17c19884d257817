// The sync step over a real store and the adapter: what an org gets, and how many calls it costs.
#include "sync/crm_reconciliation.h"
#include "tests/salesforce/salesforce_sync_fixture.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::Status;
using schema::TransactionId;
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
  std::int64_t after = platform::kMinuteMillis;
  for (const Status status : {Status::delivered, Status::opened, Status::expired, Status::refunded}) {
    report(gifts, status, after);
    after += platform::kMinuteMillis;
    EXPECT_EQ(step(after).updated, 1000U) << schema::to_word(status);
  }
  EXPECT_EQ(calls(), 8) << "four waves of a status, and one of tasks";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE recipienttransactionstatus = 'refunded'"),
            "1000");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task WHERE status = 'Completed'"), "1000");
  step(after);
  EXPECT_EQ(calls(), 8) << "nothing is left to do";
}

TEST_F(SalesforceSyncTest, ARecordThatWasDeletedIsReportedAndItsTaskIsCompleted) {
  const std::vector<TransactionId> gifts = store_.create_gifts(2);
  step(0);
  sql("UPDATE crm_gift_record SET isdeleted = 1 WHERE recipienttransactionid = " +
      std::to_string(gifts[0].value));
  report(gifts, Status::redeemed, platform::kMinuteMillis);
  const sync::SyncStepStats stats = step(2 * platform::kMinuteMillis);
  EXPECT_EQ(stats.updated, 1U);
  EXPECT_EQ(stats.failed, 1U);
  EXPECT_EQ(stats.tasks, 2U);
  const auto states = store_->sync.find_states(gifts);
  ASSERT_THAT(states, SizeIs(2));
  EXPECT_EQ(states[0].state, schema::store::CrmSyncStatus::deleted);
  EXPECT_EQ(states[0].crm_id, "");
  EXPECT_EQ(states[1].crm_id, scalar("SELECT id FROM crm_gift_record WHERE isdeleted = 0"));
}

// ORG-12
TEST_F(SalesforceSyncTest, ARecordWhoseVersionIsAheadIsRefusedUntilABackfillTakesItOver) {
  const std::vector<TransactionId> gifts = store_.create_gifts(1);
  EXPECT_EQ(step(0).created, 1U);
  sql("UPDATE crm_gift_record SET record_version = 900");
  report(gifts, Status::delivered, platform::kMinuteMillis);
  const sync::SyncStepStats stats = step(2 * platform::kMinuteMillis);
  EXPECT_EQ(stats.failed, 1U);
  EXPECT_EQ(stats.unchanged, 0U);
  const auto states = store_->sync.find_states(gifts);
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_EQ(states[0].state, schema::store::CrmSyncStatus::rejected);
  EXPECT_THAT(states[0].error, testing::HasSubstr("giftsyncctl backfill gift-records"));
  EXPECT_NE(states[0].crm_id, "");
  EXPECT_EQ(scalar("SELECT recipienttransactionstatus FROM crm_gift_record"), "sent") << "not overwritten";
  const auto wait = store_->sync.find_wait(gifts[0]);
  ASSERT_TRUE(wait && wait->is_rejected);
  EXPECT_GE(wait->next_attempt_at.value, kSentAt.value + 6 * platform::kHourMillis);
  const int before = calls();
  step(3 * platform::kMinuteMillis);
  EXPECT_EQ(calls(), before) << "it is tried rarely";

  const sync::ReconciliationRules rules{rules_, false, false};
  const auto batch =
      sync::reconcile_gift_records(*store_, *crm_, rules, {0}, kSentAt + 4 * platform::kMinuteMillis);
  ASSERT_THAT(batch.findings, SizeIs(1));
  EXPECT_EQ(batch.findings[0].kind, sync::ReconciliationFinding::Kind::repaired);
  EXPECT_THAT(batch.to_write, testing::ElementsAre(gifts[0]));
  EXPECT_EQ(step(5 * platform::kMinuteMillis).updated, 1U);
  EXPECT_EQ(record(gifts[0].value).version, 901);
  EXPECT_EQ(scalar("SELECT recipienttransactionstatus FROM crm_gift_record"), "delivered");
  EXPECT_EQ(store_->sync.find_states(gifts)[0].state, schema::store::CrmSyncStatus::written);
}

// SYNC-71
TEST_F(SalesforceSyncTest, WhatTheOrgMakesOfAValueIsNoDrift) {
  rules_.integration_user = user_;  // every record of an org has an owner
  schema::store::NewGiftRequest request;
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
      ADD_FAILURE() << schema::descriptor_of(drift.field).name << ": " << drift.in_crm << ", not "
                    << drift.wanted;
  }
}

}  // namespace
}  // namespace giftsync::daemon::salesforce
