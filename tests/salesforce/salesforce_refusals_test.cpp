// What an org refuses until an admin mends it: how seldom it is asked, what goes on meanwhile, and what is
// left out.
#include "crm/salesforce/org/write_mode.h"
#include "crm/salesforce/records/gift_upserts.h"
#include "platform/dependency_error.h"
#include "sync/crm/crm_reconciliation.h"
#include "sync/request/request_record_step.h"
#include "tests/salesforce/salesforce_sync_fixture.h"
#include "tests/support/log_lines.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftUpsert;
using crm::TaskUpsert;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kMostCallsADay = 30;

class SalesforceRefusalsTest : public SalesforceSyncTest {
 protected:
  void set(const std::string& name, const std::string& value) {
    server_.with_org([&](Org& org) { org.set(name, value); });
  }
  std::string count(const std::string& table) { return scalar("SELECT count(*) FROM " + table); }
  int calls_of_a_day() {
    const int before = calls();
    work_for(kDayMillis, 10 * kMinuteMillis);
    return calls() - before;
  }
  void watch_the_org() {
    SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
    options.names.skip_field(GiftField::created_by);
    options.mode_facts = facts();
    options.clock = [this] { return clock(); };
    crm_ = make_salesforce_crm(client_, std::move(options));
  }
  static GiftUpsert with_texts(std::int64_t transaction) {
    GiftUpsert row = upsert(transaction, 1);
    row.record.set(GiftField::message, std::string("Thanks"));
    row.record.set(GiftField::recipient_email, std::string("ada@example.com"));
    return row;
  }
};

// ORG-18
TEST_F(SalesforceRefusalsTest, AHiddenFieldOfMatchingIsAskedForOnceAnHourAndDecidedGiftsGoOn) {
  const auto decided = store_.create_gifts(1);
  work();
  set("hidden_fields", "Contact.Email");
  store_.create_gifts(1);
  EXPECT_EQ(work(), "");
  EXPECT_EQ(last_.waiting, 1U);
  EXPECT_THAT(tests::messages_of(last_.warnings), ElementsAre(HasSubstr("INVALID_FIELD")));
  pass(kMinuteMillis);
  const UtcMillis now = clock();
  store_->changes.accept(
      std::vector<store::StatusChange>{{{}, "test", decided.front(), Status::delivered, now, now, {}}});
  pass(kMinuteMillis);
  EXPECT_EQ(work(), "");
  EXPECT_EQ(scalar("SELECT recipienttransactionstatus FROM crm_gift_record"), "delivered");
  EXPECT_LE(calls_of_a_day(), kMostCallsADay);
  set("hidden_fields", "");
  work_for(kHourMillis + 30 * kMinuteMillis, 10 * kMinuteMillis);
  EXPECT_EQ(count("crm_gift_record"), "2");
}

// ORG-18, SYNC-70
TEST_F(SalesforceRefusalsTest, RefusedTasksKeepNoGiftRecordAndCostFewCalls) {
  for (const char* refuses_parts : {"true", ""}) {
    set("refuses_parts", refuses_parts);
    set("hidden_objects", "Task");
    const int before = std::stoi(count("crm_gift_record"));
    store_.create_gifts(20);
    work();
    EXPECT_EQ(count("crm_gift_record"), std::to_string(before + 20));
    work_for(kMinuteMillis, 10'000);
    store_.create_gifts(1);
    work();
    EXPECT_EQ(count("crm_gift_record"), std::to_string(before + 21)) << "within seconds";
    EXPECT_LE(calls_of_a_day(), kMostCallsADay) << refuses_parts;
    set("hidden_objects", "");
    work_for(kHourMillis + 30 * kMinuteMillis, 10 * kMinuteMillis);
    EXPECT_EQ(count("crm_task"), count("crm_gift_record"));
  }
}

// ORG-18
TEST_F(SalesforceRefusalsTest, AnOrgWithoutTheApiIsAskedOnceAnHour) {
  set("api_disabled", "true");
  store_.create_gifts(3);
  work();
  EXPECT_THAT(tests::messages_of(last_.warnings), ElementsAre(HasSubstr("API_DISABLED_FOR_ORG")));
  EXPECT_LE(calls_of_a_day(), kMostCallsADay);
  set("api_disabled", "");
  work_for(kHourMillis + 30 * kMinuteMillis, 10 * kMinuteMillis);
  EXPECT_EQ(count("crm_gift_record"), "3");
}

// ORG-18
TEST_F(SalesforceRefusalsTest, HiddenRequestRecordsAreAskedForOnceAnHour) {
  set("hidden_fields", "Request_Record__c.Message__c");
  const int before = calls();
  for (std::int64_t passed = 0; passed < kDayMillis; passed += 5 * kMinuteMillis) {
    try {
      sync::request_record_step(*store_, *crm_, {}, clock());
    } catch (const giftsync::DependencyError& fault) {
      EXPECT_FALSE(fault.transient());
    }
    pass(5 * kMinuteMillis);
  }
  EXPECT_LE(calls() - before, kMostCallsADay);
}

// ORG-19
TEST_F(SalesforceRefusalsTest, AHiddenFieldOfTheGiftRecordIsLeftOut) {
  for (const char* refuses_parts : {"", "true"}) {
    set("refuses_parts", refuses_parts);
    sql("DELETE FROM crm_gift_record");
    facts_.clear();
    watch_the_org();
    set("hidden_fields", "Gift_Record__c.Message__c, Gift_Record__c.Item_Cost__c");
    EXPECT_THAT(kinds({with_texts(1), with_texts(2)}), ElementsAre(Kind::created, Kind::created));
    GiftUpsert later = upsert(1, 2, true);
    later.record.set(GiftField::item_cost, Money{500});
    later.record.set(GiftField::status, std::string("delivered"));
    const int before = calls();
    EXPECT_THAT(kinds({later}), ElementsAre(Kind::updated));
    EXPECT_EQ(calls() - before, 2) << "a look-up of the record and the write";
    EXPECT_EQ(record(1).get(GiftField::status), FieldValue(std::string("delivered")));
    EXPECT_FALSE(gifts().has_field(GiftField::message));
    watch_the_org();
    EXPECT_EQ(record(2).get(GiftField::recipient_email), FieldValue(std::string("ada@example.com")));
    set("hidden_fields", "");
    pass(2 * kHourMillis);
    kinds({upsert(3, 1)});
    pass(kFirstLookMillis);
    EXPECT_THAT(kinds({with_texts(4)}), ElementsAre(Kind::created));
    EXPECT_EQ(record(4).get(GiftField::message), FieldValue(std::string("Thanks")));
  }
}

// ORG-19
TEST_F(SalesforceRefusalsTest, WithoutAVitalFieldNothingIsWritten) {
  watch_the_org();
  set("hidden_fields", "Gift_Record__c.RecipientTransactionStatus__c");
  for (const char* refuses_parts : {"", "true"}) {
    set("refuses_parts", refuses_parts);
    EXPECT_THROW(write({with_texts(1)}), FieldsDiffer);
    const int before = calls();
    EXPECT_THROW(write({with_texts(2)}), giftsync::DependencyPause);
    EXPECT_EQ(calls(), before);
    pass(kHourMillis);
  }
  EXPECT_EQ(count("crm_gift_record"), "0");
}

// SYNC-14
TEST_F(SalesforceRefusalsTest, TextsAreCutAsSalesforceCountsThem) {
  const std::string gift = "\xF0\x9F\x8E\x81";
  GiftUpsert row = upsert(1, 1);
  const std::string name = gift + std::string(79, 'x');
  row.record.set(GiftField::name, name);
  row.record.set(GiftField::deal_stage, std::string(254, 'x') + gift);
  const int before = calls();
  EXPECT_THAT(kinds({row}), ElementsAre(Kind::created));
  EXPECT_EQ(calls() - before, 1);
  const GiftRecord read = record(1);
  EXPECT_EQ(read.get(GiftField::name), FieldValue(gift + std::string(78, 'x')));
  EXPECT_EQ(read.get(GiftField::name), gifts().as_kept(GiftField::name, name)) << "no drift";
  EXPECT_EQ(read.get(GiftField::deal_stage), FieldValue(std::string(254, 'x'))) << "no half of a pair";
  TaskUpsert task;
  task.transaction = {1};
  task.status = "Not Started";
  task.subject = std::string(254, 'x') + gift;
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(&task, 1))), ElementsAre(Kind::created));
  EXPECT_EQ(scalar("SELECT length(subject) FROM crm_task"), "254");
}

// SYNC-14
TEST(GiftRefusals, ATextThatIsRefusedAgainIsCutFurther) {
  const ApiNames names(OrgNames{});
  GiftWrite gift;
  gift.record.set(GiftField::name, std::string(80, 'x'));
  const ApiError error{"STRING_TOO_LONG", "Name: data value too large: x (max length=60)", {"Name"}};
  for (const std::size_t length : {60U, 30U, 15U}) {
    classify_failure(gift, error, ErrorClass::value_too_long, names);
    EXPECT_EQ(gift.next, GiftWrite::Next::create);
    EXPECT_EQ(std::get<std::string>(gift.record.get(GiftField::name)).size(), length);
  }
}

// SYNC-17
TEST_F(SalesforceRefusalsTest, ALookupThatOnlyTheWordsNameIsCleared) {
  const std::string ada = contact("ada@example.com");
  const auto refuse = [&](const char* object) {
    fault({{"kind", "row_error"},
           {"object", object},
           {"status_code", "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY"},
           {"message", "insufficient access rights on cross-reference id: " + ada.substr(0, 15)}});
  };
  refuse("Gift_Record__c");
  GiftUpsert row = upsert(1, 1);
  row.record.set(GiftField::recipient_contact, ada);
  const auto results = write({row});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::created));
  EXPECT_THAT(results[0].cleared_lookups, ElementsAre(GiftField::recipient_contact));
  refuse("Task");
  TaskUpsert task;
  task.transaction = {1};
  task.status = "Not Started";
  task.subject = "Gift";
  task.contact_id = ada;
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(&task, 1))), ElementsAre(Kind::created));
  EXPECT_EQ(scalar("SELECT whoid FROM crm_task"), "null");
}

// ORG-1
TEST_F(SalesforceRefusalsTest, AnIdWhoseLastThreeCharactersDoNotFitNamesNothing) {
  const std::string ada = contact("ada@example.com");
  const std::vector<std::string> ids{user_.substr(0, 15) + "ZZZ", user_};
  const auto users = crm_->directory().find_users_by_id(ids);
  EXPECT_EQ(users[0], std::nullopt);
  EXPECT_TRUE(users[1].has_value());
  EXPECT_FALSE(crm_->rows()->find("contact", ada.substr(0, 15) + "ZZZ"));
  EXPECT_TRUE(crm_->rows()->find("contact", ada));
  GiftUpsert row = upsert(1, 1);
  row.record.set(GiftField::actual_sender, ids[0]);
  EXPECT_THAT(kinds({row}), ElementsAre(Kind::created));
  EXPECT_EQ(record(1).get(GiftField::actual_sender), FieldValue());
}

// SYNC-5
TEST_F(SalesforceRefusalsTest, AnOwnerThatTheOrgGaveIsNoDifference) {
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.item_name = "Coffee";
  request.request.created_at = kSentAt;
  request.recipients.push_back({"ada@example.com", "Ada", "", "Hi"});
  const auto outcomes = store_->gifts.create(std::span(&request, 1));
  EXPECT_EQ(step(1000).created, 1U);
  EXPECT_NE(record(outcomes.front().recipients.front().id.value).get(GiftField::owner), FieldValue());
  const sync::ReconciliationRules rules{rules_, false, false};
  const auto batch = sync::reconcile_gift_records(*store_, *crm_, rules, {0}, kSentAt + 2000);
  ASSERT_EQ(batch.findings.size(), 1U);
  EXPECT_THAT(batch.findings[0].differences, IsEmpty());
}

}  // namespace
}  // namespace giftsync::salesforce
