// Names of fields, and records as rows of calls and from rows of queries.
#include "crm/salesforce/calls/record_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/json.h"

namespace giftsync::salesforce {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kId[] = "a0G5g00000AbCdEEAV";

TEST(ApiNames, HaveTheNamespaceTheOrgHas) {
  const ApiNames deployed(OrgNames{});
  EXPECT_EQ(deployed.object("gift_record"), "Gift_Record__c");
  EXPECT_EQ(deployed.object("opportunity_contact_role"), "OpportunityContactRole");
  EXPECT_EQ(deployed.field(GiftField::item_cost), "Item_Cost__c");
  EXPECT_EQ(deployed.field(GiftField::owner), "OwnerId");
  EXPECT_EQ(deployed.field(RequestRecordField::error_log), "giftsync_Error_Log__c");
  EXPECT_EQ(deployed.field(OwnField::record_version), "Record_Version__c");

  const ApiNames packaged(OrgNames{.name_space = "thx", .package_word = "Thanks"});
  EXPECT_EQ(packaged.object("gift_record"), "thx__Gift_Record__c");
  EXPECT_EQ(packaged.field(GiftField::item_cost), "thx__Item_Cost__c");
  EXPECT_EQ(packaged.field(RequestRecordField::send_type), "Send_Type__c");
  EXPECT_EQ(packaged.field(RequestRecordField::error_log), "thx__Thanks_Error_Log__c");
  EXPECT_EQ(packaged.field(RequestRecordField::item_link), "thx__Item_in_Thanks__c");
  EXPECT_EQ(packaged.field(RequestRecordField::include_shipping), "thx__Include_Thanks_Shipping__c");
  EXPECT_EQ(packaged.field(OwnField::task_transaction), "thx__RecipientTransactionId__c");
}

TEST(ApiNames, WithOneWordEqualTheFieldTables) {
  const ApiNames names(OrgNames{.name_space = "giftsync"});
  for (std::size_t i = 0; i < kGiftFieldCount; ++i)
    EXPECT_EQ(names.field(static_cast<GiftField>(i)), api_name(kGiftFields[i], "giftsync"));
  for (std::size_t i = 0; i < kRequestRecordFieldCount; ++i) {
    const auto field = static_cast<RequestRecordField>(i);
    EXPECT_EQ(names.field(field), request_record_api_name(field, "giftsync"));
  }
}

TEST(ApiNames, SettingsNameThemOtherwiseOrSayThatTheyAreMissing) {
  ApiNames names(OrgNames{.name_space = "thx",
                          .objects = {{"gift_record", "Present__c"}, {"task", "-"}},
                          .columns = {{"gift_record.deal_stage", "Stage__c"},
                                      {"gift_record.Message", "-"},
                                      {"contact.Phone", "Main_Phone__c"}}});
  EXPECT_EQ(names.object("gift_record"), "Present__c");
  EXPECT_EQ(names.object("task"), "");
  EXPECT_EQ(names.field(GiftField::deal_stage), "Stage__c");
  EXPECT_EQ(names.field(GiftField::message), "");
  EXPECT_EQ(names.field("contact", "phone"), "Main_Phone__c");
  EXPECT_EQ(names.field("contact", "Email"), "Email");
  EXPECT_EQ(names.gift_fields().size(), kGiftFieldCount - 1);
  EXPECT_EQ(names.gift_field("THX__account__c"), GiftField::account);
  EXPECT_EQ(names.gift_field("Account__c"), GiftField::account);
  EXPECT_EQ(names.gift_field("Stage__c"), GiftField::deal_stage);
  EXPECT_EQ(names.gift_field("Other__c"), std::nullopt);
  names.skip_field(GiftField::deal_stage);
  EXPECT_EQ(names.gift_field("Stage__c"), std::nullopt);
}

/// A value for each field that giftsync writes.
GiftRecord full_record() {
  GiftRecord record;
  record.version = 4;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    switch (kGiftFields[i].type) {
      case FieldType::currency:
        record.set(field, Money{9'999'999'999'999'999 - static_cast<std::int64_t>(i)});
        break;
      case FieldType::number:
        record.set(field, std::int64_t{9'000'000'000'000'001});
        break;
      case FieldType::date_time:
        record.set(field, UtcMillis{1'795'341'600'123});
        break;
      case FieldType::checkbox:
        break;
      default:
        record.set(field, "\"text\" \xF0\x9F\x8E\x81 of " + std::to_string(i));
    }
  }
  return record;
}

TEST(RecordJson, ARowBeginsWithAttributesAndHasExactDigits) {
  const ApiNames names(OrgNames{});
  const std::string row = gift_create_row(names, full_record());
  EXPECT_THAT(row, StartsWith(R"({"attributes":{"type":"Gift_Record__c"},)"));
  EXPECT_THAT(row, HasSubstr(R"("RecipientTransactionId__c":9000000000000001)"));
  EXPECT_THAT(row, HasSubstr(R"("Carbon_Neutral_Cost__c":99999999999999.97)"));
  EXPECT_THAT(row, HasSubstr(R"("Opened_Date_Time__c":"2026-11-22T10:00:00.123Z")"));
  EXPECT_THAT(row, HasSubstr(R"("Record_Version__c":4)"));
  EXPECT_THAT(row, Not(HasSubstr("LastModifiedById"))) << "the CRM's own";
  EXPECT_THAT(row, Not(HasSubstr("Delivered__c"))) << "a formula";
}

TEST(RecordJson, EveryWrittenValueReadsBack) {
  for (const char* name_space : {"", "thx"}) {
    const ApiNames names(OrgNames{.name_space = name_space});
    const GiftRecord record = full_record();
    const auto document = parse_json(gift_create_row(names, record), {.large_numbers_as_text = true});
    ASSERT_TRUE(document);
    const auto read = read_gift(names, document->root());
    EXPECT_EQ(read.record.version, 4);
    EXPECT_TRUE(read.record.unreadable.empty());
    for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
      if (kGiftFields[i].owner == FieldOwner::crm) continue;
      const auto field = static_cast<GiftField>(i);
      EXPECT_EQ(read.record.get(field), record.get(field)) << kGiftFields[i].name;
    }
  }
}

TEST(RecordJson, AnUpdateNamesOnlyWhatGiftsyncOwns) {
  const ApiNames names(OrgNames{});
  GiftRecord record;
  record.version = 7;
  record.set(GiftField::status, std::string("opened"));
  record.set(GiftField::message, std::string("once"));
  record.set(GiftField::recipient_email, std::string());
  record.set(GiftField::transaction_id, std::int64_t{9});
  const auto row = tests::parse_ordered_json(gift_update_row(names, kId, record, {}));
  EXPECT_EQ(row.at("id"), kId);
  EXPECT_EQ(row.at("RecipientTransactionStatus__c"), "opened");
  EXPECT_TRUE(row.at("Redeemed_Date_Time__c").is_null()) << "absent clears";
  EXPECT_TRUE(row.at("Recipient_Email__c").is_null()) << "an empty text is none";
  EXPECT_FALSE(row.contains("Item_Cost__c")) << "an unknown price is preserved";
  EXPECT_FALSE(row.contains("RecipientTransactionCreatedAt__c"));
  EXPECT_FALSE(row.contains("Message__c"));
  EXPECT_FALSE(row.contains("Account__c")) << "no lookup, so that no parent can refuse it";
  EXPECT_EQ(row.at("Record_Version__c"), 7);
  EXPECT_EQ(row.at("RecipientTransactionId__c"), 9) << "the rule Same_Gift compares it";
}

TEST(RecordJson, AnUpdateWithoutTheRulesLeavesTheTransactionIdAlone) {
  ApiNames names(OrgNames{});
  names.skip_field(OwnField::record_version);
  GiftRecord record;
  record.set(GiftField::transaction_id, std::int64_t{9});
  const auto row = tests::parse_ordered_json(gift_update_row(names, kId, record, {}));
  EXPECT_FALSE(row.contains("RecipientTransactionId__c"));
}

TEST(RecordJson, WhatIsLeftOutIsNotNamed) {
  const ApiNames names(OrgNames{.columns = {{"gift_record.Description", "-"}}});
  const auto row = tests::parse_ordered_json(gift_create_row(names, full_record(), {GiftField::account}));
  EXPECT_FALSE(row.contains("Account__c"));
  EXPECT_FALSE(row.contains("Description__c"));
  EXPECT_FALSE(row.contains(""));
  EXPECT_TRUE(row.contains("Opportunity__c"));
}

TEST(RecordJson, RelinkWritesTheFourLookups) {
  const ApiNames names(OrgNames{});
  const crm::GiftRelink relink{{1}, {}, {"003A", "", "", "006A"}, "Old", "New"};
  EXPECT_EQ(gift_relink_row(names, kId, relink),
            std::string(R"({"attributes":{"type":"Gift_Record__c"},"id":")") + kId +
                R"(","RecipientContactId__c":"003A","Account__c":null,"RecipientLeadId__c":null,)"
                R"("Opportunity__c":"006A","Deal_Stage__c":"New"})");
}

TEST(RecordJson, TimesCarryTheVersionAsRead) {
  StatusTimes times;
  times[Status::opened] = UtcMillis{1'795'341'600'000};
  EXPECT_EQ(gift_times_row(ApiNames(OrgNames{}), kId, times, 3),
            std::string(R"({"attributes":{"type":"Gift_Record__c"},"id":")") + kId +
                R"(","Opened_Date_Time__c":"2026-11-22T10:00:00.000Z","Record_Version__c":3})");
}

TEST(RecordJson, ReadsWhatSalesforceWrites) {
  const ApiNames names(OrgNames{});
  const auto document = parse_json(R"({"attributes":{},"Id":"a0G5g00000AbCdEEAV",
      "RecipientTransactionId__c":1.23E9,"Record_Version__c":5.0,"Item_Cost__c":16.5,
      "Shipping_Cost__c":16.495,
      "Opened_Date_Time__c":"2026-01-31T10:00:00.000+0000","Delivered__c":true,
      "Donated_Date_Time__c":"yesterday","Message__c":null,
      "LastModifiedDate":"2026-11-22T10:00:00.000+0000"})",
                                   {.large_numbers_as_text = true});
  ASSERT_TRUE(document);
  const auto read = read_gift(names, document->root());
  EXPECT_EQ(read.id, "a0G5g00000AbCdEEAV");
  EXPECT_EQ(read.last_modified, "2026-11-22T10:00:00.000+0000");
  EXPECT_EQ(read.record.transaction().value, 1'230'000'000);
  EXPECT_EQ(read.record.version, 5);
  EXPECT_EQ(std::get<Money>(read.record.get(GiftField::item_cost)), Money{1650});
  EXPECT_EQ(std::get<bool>(read.record.get(GiftField::delivered)), true);
  EXPECT_EQ(std::get<UtcMillis>(read.record.get(GiftField::opened_time)).value, 1'769'853'600'000);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(read.record.get(GiftField::message)));
  ASSERT_EQ(read.record.unreadable.size(), 2U);
  EXPECT_EQ(read.record.unreadable[0].text, "yesterday");
  EXPECT_EQ(read.record.unreadable[1].text, "16.495");
}

TEST(RecordJson, ATransactionIdBeyondADoubleIsUnreadable) {
  const auto document =
      parse_json(R"({"RecipientTransactionId__c":9.007199254740994E15})", {.large_numbers_as_text = true});
  const auto read = read_gift(ApiNames(OrgNames{}), document->root());
  EXPECT_EQ(read.record.transaction().value, 0);
  ASSERT_EQ(read.record.unreadable.size(), 1U);
  EXPECT_EQ(read.record.unreadable[0].text, "9.007199254740994E15") << "as it came";
}

TEST(RecordJson, TasksLeaveOutWhatIsEmpty) {
  const ApiNames names(OrgNames{});
  crm::TaskUpsert task;
  task.transaction = {12};
  task.status = "Not Started";
  task.subject = std::string(300, 'x');
  const auto row = tests::parse_ordered_json(task_create_row(names, task, kId));
  EXPECT_EQ(row.at("WhatId"), kId);
  EXPECT_FALSE(row.contains("WhoId"));
  EXPECT_EQ(row.at("Subject"), std::string(255, 'x'));
  EXPECT_EQ(row.at("RecipientTransactionId__c"), 12);
  EXPECT_FALSE(tests::parse_ordered_json(task_create_row(names, task, "")).contains("WhatId"));
  task.completed = true;
  task.status = "Completed";
  const std::string completed =
      std::string(R"({"attributes":{"type":"Task"},"id":")") + kId + R"(","Status":"Completed")";
  EXPECT_EQ(task_update_row(names, kId, task, ""), completed + "}");
  EXPECT_EQ(task_update_row(names, kId, task, kId), completed + R"(,"WhatId":")" + kId + R"("})");
  EXPECT_THAT(task_relink_row(names, kId, ""), HasSubstr(R"("WhoId":null)"));

  const auto document = parse_json(
      R"({"Id":"00T","RecipientTransactionId__c":12.0,"WhatId":"a0G","WhoId":null,"Status":"Completed"})");
  const auto read = read_task(names, document->root());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->transaction.value, 12);
  EXPECT_EQ(read->who_id, "");
  EXPECT_EQ(read->status, "Completed");
  EXPECT_FALSE(read_task(names, parse_json(R"({"Id":"00T"})")->root()));
}

TEST(RecordJson, RequestRecordsAreWrittenWithTheirGuard) {
  const ApiNames names(OrgNames{});
  crm::RequestRecordUpdate update;
  update.expected.id = kId;
  update.status = RequestRecordStatus::sent;
  update.error_log = "";
  update.claimed = true;
  const auto row =
      tests::parse_ordered_json(request_update_row(names, update, {"2026-11-22T10:00:00.000+0000", "mark"}));
  EXPECT_EQ(row.at("Request_Status__c"), "Sent");
  EXPECT_TRUE(row.at("giftsync_Error_Log__c").is_null());
  EXPECT_EQ(row.at("Claimed__c"), true);
  EXPECT_EQ(row.at("Guard_Modified__c"), "2026-11-22T10:00:00.000+0000");
  EXPECT_EQ(row.at("Guard_Mark__c"), "mark");
  EXPECT_FALSE(row.contains("Auto_Approved__c"));
}

TEST(RecordJson, RequestRecordsReadBack) {
  const ApiNames names(OrgNames{.name_space = "thx"});
  crm::NewRequestRecord request{"key", {}};
  request.record.set(RequestRecordField::gift_id, std::string("7"));
  request.record.set(RequestRecordField::auto_approved, false);
  request.record.set(RequestRecordField::send_type, std::string("email"));
  const std::string row = request_create_row(names, request);
  EXPECT_THAT(row, HasSubstr(R"("thx__Creation_Key__c":"key")"));
  const auto document = parse_json(row);
  const auto read = read_request(names, document->root());
  EXPECT_EQ(read.record.text(RequestRecordField::gift_id), "7");
  EXPECT_EQ(read.record.checkbox(RequestRecordField::auto_approved), false);
  EXPECT_EQ(read.record.checkbox(RequestRecordField::use_user_balance), std::nullopt);
  EXPECT_EQ(read.record.text(RequestRecordField::send_type), "email");
  EXPECT_FALSE(read.record.claimed);
}

TEST(RecordJson, FieldsOfARequestRecordAreReadInAnySpelling) {
  const ApiNames names(OrgNames{.name_space = "thx"});
  const auto document =
      parse_json(R"({"Id":"a0R1","THX__claimed__c":true,"thx__GUARD_MARK__c":"mark","thx__gift_id__C":"7"})");
  const auto read = read_request(names, document->root());
  EXPECT_TRUE(read.record.claimed);
  EXPECT_EQ(read.guard_mark, "mark");
  EXPECT_EQ(read.record.text(RequestRecordField::gift_id), "7");
}

TEST(RecordJson, TimesAndPaths) {
  EXPECT_EQ(read_time("2026-11-22T10:00:00.000+0000"), UtcMillis{1'795'341'600'000});
  EXPECT_EQ(read_time("2026-11-22T11:00:00.000+0100"), UtcMillis{1'795'341'600'000});
  EXPECT_EQ(read_time("2026-11-22T10:00:00Z"), UtcMillis{1'795'341'600'000});
  EXPECT_EQ(read_time("2026-11-22T10:00:00.5+00:00"), UtcMillis{1'795'341'600'500});
  for (const char* text : {"", "+0000", "2026-11-22", "2026-11-22T10:00:00"})
    EXPECT_EQ(read_time(text), std::nullopt) << text;
  const auto row = parse_json(R"({"Opportunity":{"Name":"Deal","Amount":1.5},"Contact":null})");
  EXPECT_EQ(text_of_value(value_at(row->root(), "Opportunity.Name")), "Deal");
  EXPECT_EQ(text_of_value(value_at(row->root(), "Opportunity.Amount")), "1.5");
  EXPECT_EQ(text_of_value(value_at(row->root(), "Contact.Name")), "");
}

}  // namespace
}  // namespace giftsync::salesforce
