// What follows from the facts of an org: the mode, and each finding with its remedy.
#include "crm/salesforce/org/org_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "tests/crm/salesforce/org_facts_of_package.h"

namespace giftsync::salesforce {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using Severity = Finding::Severity;

std::vector<Finding> more_than_notes(const OrgReport& report) {
  std::vector<Finding> found;
  for (const Finding& one : report.findings) {
    if (one.severity != Severity::note) found.push_back(one);
  }
  return found;
}

TEST(OrgFindings, AnOrgWithThePackageHasNothingButNotes) {
  const OrgReport report = check(facts_of_package(), expectations());
  EXPECT_EQ(report.mode, OrgMode::guarded) << report.reason;
  EXPECT_TRUE(report.offers_tasks);
  EXPECT_TRUE(report.offers_requests);
  for (const Finding& one : more_than_notes(report)) ADD_FAILURE() << to_text(one);
  EXPECT_FALSE(report.has_faults());
}

// ORG-22
TEST(OrgFindings, SaysWhetherTheOrgHasPersonAccounts) {
  OrgFacts facts = facts_of_package();
  const auto found = [&](const char* words) {
    return Contains(AllOf(Field(&Finding::severity, Severity::note),
                          Field(&Finding::subject, "person accounts"),
                          Field(&Finding::found, HasSubstr(words))));
  };
  EXPECT_THAT(check(facts, expectations()).findings, found("has none"));
  add(facts.objects["account"], plain_field("IsPersonAccount", "boolean"));
  EXPECT_THAT(check(facts, expectations()).findings, found("the contact of the person account"));
}

struct Case {
  const char* name;
  std::function<void(OrgFacts&, OrgExpectations&)> change;
  OrgMode mode;
  Severity severity;
  const char* subject;
  const char* found;
  const char* remedy;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

FieldFacts& gift(OrgFacts& facts, std::string_view name) {
  return field_of(facts, "gift_record", name);
}
RuleFacts& rule(OrgFacts& facts, std::string_view name) {
  return *std::ranges::find(*facts.rules, name, &RuleFacts::name);
}
void erase(OrgFacts& facts, const std::string& object, const std::string& field) {
  facts.objects.at(object).fields.erase(ascii_lower(field));
}

const Case kCases[] = {
    {"no_object", [](auto& f, auto&) { f.objects.erase("gift_record"); }, OrgMode::none, Severity::fault,
     "Gift_Record__c", "missing", "giftsyncctl crm setup"},
    {"another_namespace",
     [](auto& f, auto&) {
       f.objects.erase("gift_record");
       f.object_names.push_back("acme__Gift_Record__c");
     },
     OrgMode::none, Severity::fault, "Gift_Record__c", "missing", "acme__Gift_Record__c: set crm.namespace"},
    {"read_only_object", [](auto& f, auto&) { f.objects["gift_record"].is_updateable = false; },
     OrgMode::none, Severity::fault, "mode", "may not create and edit records of Gift_Record__c",
     "crm setup"},
    {"field_not_seen", [](auto& f, auto&) { erase(f, "gift_record", "Message__c"); }, OrgMode::guarded,
     Severity::warning, "Gift_Record__c.Message__c", "may not see it",
     "permission set giftsync_Integration to integ"},
    {"status_not_seen", [](auto& f, auto&) { erase(f, "gift_record", "RecipientTransactionStatus__c"); },
     OrgMode::guarded, Severity::fault, "RecipientTransactionStatus__c", "missing", "giftsync_Integration"},
    {"field_read_only", [](auto& f, auto&) { gift(f, "Item_Cost__c").is_updateable = false; },
     OrgMode::guarded, Severity::warning, "Item_Cost__c", "may not change it", "giftsync_Integration"},
    {"field_of_another_type", [](auto& f, auto&) { gift(f, "Sender_Email__c").type = "double"; },
     OrgMode::guarded, Severity::fault, "Sender_Email__c", "its type is double", "crm.columns"},
    {"field_too_short", [](auto& f, auto&) { gift(f, "Deal_Stage__c").length = 40; }, OrgMode::guarded,
     Severity::warning, "Deal_Stage__c", "it takes 40 characters", "set its length to 255"},
    {"lookup_to_another_object", [](auto& f, auto&) { gift(f, "Account__c").targets = {"Contact"}; },
     OrgMode::guarded, Severity::fault, "Account__c", "refers to Contact, not to Account", "crm.columns"},
    {"restricted_picklist",
     [](auto& f, auto&) {
       gift(f, "RecipientTransactionStatus__c").is_restricted = true;
       gift(f, "RecipientTransactionStatus__c").words.pop_back();
     },
     OrgMode::guarded, Severity::fault, "RecipientTransactionStatus__c", "restricted and lacks",
     "add the values"},
    {"id_not_unique", [](auto& f, auto&) { gift(f, "RecipientTransactionId__c").is_unique = false; },
     OrgMode::none, Severity::fault, "mode", "is not unique", "crm setup"},
    {"id_no_external_id", [](auto& f, auto&) { gift(f, "RecipientTransactionId__c").is_external_id = false; },
     OrgMode::none, Severity::fault, "mode", "no external id", "crm setup"},
    {"id_too_small", [](auto& f, auto&) { gift(f, "RecipientTransactionId__c").precision = 9; },
     OrgMode::none, Severity::fault, "mode", "no number of 16 digits", "crm setup"},
    {"rule_off", [](auto& f, auto&) { rule(f, "Only_Newer").is_active = false; }, OrgMode::none,
     Severity::fault, "mode", "Only_Newer of Gift_Record__c is not active", "crm setup"},
    {"gift_rule_off", [](auto& f, auto&) { rule(f, "Same_Gift").is_active = false; }, OrgMode::none,
     Severity::fault, "mode", "Same_Gift of Gift_Record__c is not active", "crm setup"},
    {"rule_gone",
     [](auto& f, auto&) {
       std::erase_if(*f.rules, [](const auto& one) { return one.name == "Only_Newer"; });
     },
     OrgMode::none, Severity::fault, "mode", "is missing", "crm setup"},
    {"rule_translated", [](auto& f, auto&) { rule(f, "Only_Newer").message = "Zu alt"; }, OrgMode::none,
     Severity::fault, "mode", "does not begin with GIFTSYNC:OLDER", "crm setup"},
    {"rules_not_seen", [](auto& f, auto&) { f.rules.reset(); }, OrgMode::none, Severity::fault, "mode",
     "may not see the setup", "crm setup"},
    {"request_rule_off", [](auto& f, auto&) { rule(f, "As_Read").is_active = false; }, OrgMode::guarded,
     Severity::fault, "request records", "As_Read", "requests.enabled"},
    {"request_rule_of_people_off", [](auto& f, auto&) { rule(f, "Being_Sent").is_active = false; },
     OrgMode::guarded, Severity::fault, "request records", "Being_Sent of Request_Record__c is not active",
     "crm setup"},
    {"no_request_object", [](auto& f, auto&) { f.objects.erase("request_record"); }, OrgMode::guarded,
     Severity::fault, "request records", "sees no object Request_Record__c", "permission set"},
    {"request_object_read_only", [](auto& f, auto&) { f.objects["request_record"].is_updateable = false; },
     OrgMode::guarded, Severity::fault, "request records", "may not create and edit records", "crm setup"},
    {"request_guard_not_writable",
     [](auto& f, auto&) { field_of(f, "request_record", "Guard_Mark__c").is_updateable = false; },
     OrgMode::guarded, Severity::fault, "request records", "may not write Request_Record__c.Guard_Mark__c",
     "crm setup"},
    {"request_gift_not_seen", [](auto& f, auto&) { erase(f, "request_record", "Gift_Id__c"); },
     OrgMode::guarded, Severity::fault, "Request_Record__c.Gift_Id__c", "missing", "giftsync_Integration"},
    {"request_error_log_read_only",
     [](auto& f, auto&) { field_of(f, "request_record", "giftsync_Error_Log__c").is_updateable = false; },
     OrgMode::guarded, Severity::fault, "Request_Record__c.giftsync_Error_Log__c", "may not change it",
     "giftsync_Integration"},
    {"request_lookup_to_another_object",
     [](auto& f, auto&) { field_of(f, "request_record", "Sender__c").targets = {"Contact"}; },
     OrgMode::guarded, Severity::fault, "Request_Record__c.Sender__c", "refers to Contact, not to User",
     "crm.columns"},
    {"invisible_requests", [](auto& f, auto&) { f.view_all->erase("Request_Record__c"); }, OrgMode::guarded,
     Severity::warning, "Request_Record__c", "some may never be sent", "giftsync_Integration"},
    {"no_version", [](auto& f, auto&) { erase(f, "gift_record", "Record_Version__c"); }, OrgMode::bare,
     Severity::fault, "mode", "cannot protect gift records", "crm setup"},
    {"bare_without_unique_id",
     [](auto& f, auto& e) {
       erase(f, "gift_record", "Record_Version__c");
       gift(f, "RecipientTransactionId__c").is_unique = false;
       e.is_bare = true;
       e.has_requests = false;
     },
     OrgMode::bare, Severity::warning, "RecipientTransactionId__c", "not unique", "make it unique"},
    {"bare_without_external_id",
     [](auto& f, auto& e) {
       gift(f, "RecipientTransactionId__c").is_external_id = false;
       e.is_bare = true;
       e.has_requests = false;
     },
     OrgMode::none, Severity::fault, "mode", "no external id", "External ID"},
    {"bare_with_the_rule_off",
     [](auto& f, auto& e) {
       rule(f, "Only_Newer").is_active = false;
       e.is_bare = true;
     },
     OrgMode::bare, Severity::fault, "request records", "guarded mode", "requests.enabled"},
    {"bare_without_tasks",
     [](auto& f, auto& e) {
       erase(f, "task", "RecipientTransactionId__c");
       e.is_bare = true;
     },
     OrgMode::bare, Severity::warning, "tasks", "no task is made",
     "crm.columns as task.RecipientTransactionId"},
    {"bare_has_no_requests", [](auto&, auto& e) { e.is_bare = true; }, OrgMode::bare, Severity::fault,
     "request records", "guarded mode", "requests.enabled"},
    {"task_key_not_unique",
     [](auto& f, auto&) { field_of(f, "task", "RecipientTransactionId__c").is_unique = false; },
     OrgMode::guarded, Severity::fault, "tasks", "no unique external id", "tasks.enabled"},
    {"no_activities", [](auto& f, auto&) { field_of(f, "task", "WhatId").targets = {"Account"}; },
     OrgMode::guarded, Severity::fault, "tasks", "does not allow activities", "tasks.enabled"},
    {"auto_approved_default", [](auto&, auto& e) { e.auto_approves_requests = true; }, OrgMode::guarded,
     Severity::warning, "Auto_Approved__c", "default is false", "make both the same"},
    {"invisible_contacts", [](auto& f, auto&) { f.view_all->erase("Contact"); }, OrgMode::guarded,
     Severity::warning, "Contact", "\"no match\" may be false", "giftsync_Integration"},
    {"permissions_not_seen", [](auto& f, auto&) { f.view_all.reset(); }, OrgMode::guarded, Severity::warning,
     "Lead", "is unknown", "View Setup"},
    {"no_leads", [](auto& f, auto&) { f.objects.erase("lead"); }, OrgMode::guarded, Severity::fault, "Lead",
     "may not read it", "giftsync_Integration"},
    {"match_field_gone", [](auto& f, auto&) { erase(f, "contact", "Phone"); }, OrgMode::guarded,
     Severity::fault, "Contact.Phone", "missing", "matching.contact.phone_fields"},
    {"match_field_encrypted", [](auto& f, auto&) { field_of(f, "contact", "Email").is_filterable = false; },
     OrgMode::guarded, Severity::fault, "Contact.Email", "encrypted", "matching.contact.email_fields"},
    {"order_not_sortable",
     [](auto& f, auto&) { field_of(f, "lead", "LastModifiedDate").is_sortable = false; }, OrgMode::guarded,
     Severity::fault, "Lead.LastModifiedDate", "does not sort", "matching.lead.order_by"},
    {"a_hidden_field_of_tasks", [](auto&, auto& e) { e.task_fields = {"Description"}; }, OrgMode::guarded,
     Severity::fault, "Task.Description", "no task is made", "assign the permission set"},
    {"another_user", [](auto&, auto& e) { e.integration_user = "005000000000009AAA"; }, OrgMode::guarded,
     Severity::warning, "crm.integration_user", "signs in as 005000000000001AAA", "set it to the latter"},
    {"turkish_user", [](auto& f, auto&) { f.user.locale = "tr_TR"; }, OrgMode::guarded, Severity::warning,
     "user integration@example.com", "letter I", "English"},
    {"german_user", [](auto& f, auto&) { f.user.language = "de"; }, OrgMode::guarded, Severity::warning,
     "user integration@example.com", "language is de", "language to English"},
    {"no_task_object", [](auto& f, auto&) { f.objects.erase("task"); }, OrgMode::guarded, Severity::fault,
     "tasks", "Access Activities", "assign its permission set"},
    {"tasks_read_only", [](auto& f, auto&) { f.objects["task"].is_createable = false; }, OrgMode::guarded,
     Severity::fault, "tasks", "Edit Tasks", "assign its permission set"},
    {"small_share",
     [](auto& f, auto&) {
       f.calls = {1'000, 900};
     },
     OrgMode::guarded, Severity::warning, "API calls", "less than a day", "crm.salesforce.share"},
    {"quota_used",
     [](auto& f, auto&) {
       f.calls = {15'000, 100};
     },
     OrgMode::guarded, Severity::warning, "API calls", "fewer than 10 %", "crm.salesforce.keep_free"},
    {"several_currencies",
     [](auto& f, auto&) { add(f.objects["gift_record"], plain_field("CurrencyIsoCode", "picklist")); },
     OrgMode::guarded, Severity::warning, "Gift_Record__c", "several currencies", "currency"},
    {"old_version", [](auto&, auto& e) { e.api_version = "52.0"; }, OrgMode::none, Severity::fault,
     "API version 52.0", "newer one", "60.0 or newer"},
    {"unknown_version", [](auto&, auto& e) { e.api_version = "99.0"; }, OrgMode::none, Severity::fault,
     "API version 99.0", "60.0 to 63.0", "one of them"},
};

class OrgFindingsTest : public testing::TestWithParam<Case> {};

TEST_P(OrgFindingsTest, NamesWhatWasFoundAndItsRemedy) {
  const Case& one = GetParam();
  OrgFacts facts = facts_of_package();
  OrgExpectations expected = expectations();
  one.change(facts, expected);
  const OrgReport report = check(facts, expected);
  EXPECT_EQ(report.mode, one.mode) << report.reason;
  EXPECT_THAT(more_than_notes(report), Contains(AllOf(Field(&Finding::severity, one.severity),
                                                      Field(&Finding::subject, HasSubstr(one.subject)),
                                                      Field(&Finding::found, HasSubstr(one.found)),
                                                      Field(&Finding::remedy, HasSubstr(one.remedy)))))
      << testing::PrintToString([&] {
           std::vector<std::string> all;
           for (const Finding& finding : report.findings) all.push_back(to_text(finding));
           return all;
         }());
  for (const Finding& finding : more_than_notes(report)) EXPECT_NE(finding.remedy, "") << to_text(finding);
}

INSTANTIATE_TEST_SUITE_P(Cases, OrgFindingsTest, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(OrgFindings, AMissingPermissionSetIsOneFindingWithItsFields) {
  OrgFacts facts = facts_of_package();
  const OrgExpectations expected = expectations();
  std::size_t hidden = 0;
  for (const GiftField field : expected.names.gift_fields()) {
    if (field == GiftField::transaction_id) continue;
    erase(facts, "gift_record", expected.names.field(field));
    ++hidden;
  }
  ASSERT_GT(hidden, 20U);
  const std::vector<Finding> found = more_than_notes(check(facts, expected));
  const auto is_of_set = [](const Finding& one) {
    return one.subject == "permission set giftsync_Integration";
  };
  ASSERT_EQ(std::ranges::count_if(found, is_of_set), 1);
  const Finding& set = *std::ranges::find_if(found, is_of_set);
  EXPECT_THAT(set.found, AllOf(HasSubstr("of " + std::to_string(hidden - 1) + " fields or objects"),
                               HasSubstr("Gift_Record__c.Message__c")));
  EXPECT_THAT(found, Contains(AllOf(Field(&Finding::severity, Severity::fault),
                                    Field(&Finding::subject, HasSubstr("RecipientTransactionStatus__c")))))
      << "without the status nothing is written";
  EXPECT_THAT(set.remedy, HasSubstr("assign the permission set giftsync_Integration"));
  EXPECT_LT(found.size(), 6U);
}

TEST(OrgFindings, WhatIsNotWantedIsANote) {
  OrgFacts facts = facts_of_package();
  erase(facts, "task", "RecipientTransactionId__c");
  facts.objects.erase("request_record");
  OrgExpectations expected = expectations();
  expected.has_tasks = expected.has_requests = false;
  const OrgReport report = check(facts, expected);
  EXPECT_FALSE(report.offers_tasks);
  EXPECT_FALSE(report.offers_requests);
  EXPECT_TRUE(more_than_notes(report).empty());
}

TEST(OrgFindings, FieldsThatCannotBeUsedAreLeftOut) {
  OrgFacts facts = facts_of_package();
  erase(facts, "gift_record", "Message__c");
  gift(facts, "Item_Cost__c").is_updateable = false;
  gift(facts, "Deal_Stage__c").is_updateable = false;
  erase(facts, "gift_record", "RecipientTransactionStatus__c");
  const ApiNames names = expectations().names;
  names.hide(unusable_fields(names, facts));
  EXPECT_EQ(names.field(GiftField::message), "");
  EXPECT_EQ(names.field(GiftField::item_cost), "");
  EXPECT_EQ(names.field(GiftField::deal_stage), "Deal_Stage__c") << "it is written only once";
  EXPECT_EQ(names.field(GiftField::status), "RecipientTransactionStatus__c") << "vital";
  EXPECT_EQ(names.complete().field(GiftField::message), "Message__c");
  names.hide({});
  EXPECT_EQ(names.field(GiftField::message), "Message__c");
}

}  // namespace
}  // namespace giftsync::salesforce
