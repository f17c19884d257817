// The facts of an org in which giftsync's package is deployed and everything is as it should be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crm/salesforce/org/org_findings.h"
#include "crm/salesforce/org/package.h"
#include "platform/text.h"
#include "schema/enums.h"

namespace giftsync::salesforce {

inline OrgExpectations expectations() {
  const crm::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
  return {.names = ApiNames(OrgNames{}),
          .match_fields = {person, person, "US"},
          .integration_user = "005000000000001AAA",
          .has_tasks = true,
          .has_requests = true};
}

inline std::string describe_type(FieldType type) {
  using T = FieldType;
  switch (type) {
    case T::text:
      return "string";
    case T::long_text:
      return "textarea";
    case T::email:
      return "email";
    case T::phone:
      return "phone";
    case T::url:
      return "url";
    case T::picklist:
      return "picklist";
    case T::lookup:
      return "reference";
    case T::currency:
      return "currency";
    case T::number:
      return "double";
    case T::date_time:
      return "datetime";
    case T::checkbox:
      return "boolean";
  }
  return "";
}

inline FieldFacts plain_field(const std::string& name, const std::string& type) {
  return {.name = name,
          .type = type,
          .length = 255,
          .precision = 18,
          .is_createable = true,
          .is_updateable = true,
          .is_filterable = true,
          .is_sortable = true};
}

inline void add(ObjectFacts& object, FieldFacts field) {
  object.fields[ascii_lower(field.name)] = std::move(field);
}

inline FieldFacts& field_of(OrgFacts& facts, const std::string& object, std::string_view name) {
  return facts.objects.at(object).fields.at(ascii_lower(name));
}

inline void add_keys(OrgFacts& facts) {
  for (const auto& [object, name] :
       {std::pair("gift_record", "RecipientTransactionId__c"), std::pair("task", "RecipientTransactionId__c"),
        std::pair("request_record", "Creation_Key__c")}) {
    FieldFacts& key = field_of(facts, object, name);
    key.is_unique = key.is_external_id = true;
  }
}

inline OrgFacts facts_of_package() {
  const ApiNames names{OrgNames{}};
  OrgFacts facts{.versions = {"60.0", "61.0", "62.0", "63.0"},
                 .organization_id = "00D000000000001AAA",
                 .organization_name = "Acme",
                 .edition = "Enterprise Edition",
                 .user = {"005000000000001AAA", "integration@example.com", "en_US", "en_US"}};
  for (const char* object : {"gift_record", "request_record", "task", "contact", "lead", "account",
                             "opportunity", "opportunity_contact_role", "user"}) {
    facts.objects[object] = {names.object(object), true, true, {}};
    facts.object_names.push_back(names.object(object));
  }
  ObjectFacts& gift = facts.objects["gift_record"];
  for (const GiftField field : names.gift_fields()) {
    FieldFacts made = plain_field(names.field(field), describe_type(descriptor_of(field).type));
    made.targets = {"Account", "Opportunity", "Contact", "Lead", "User"};
    add(gift, made);
  }
  for (const Status status : kAllStatuses)
    field_of(facts, "gift_record", names.field(GiftField::status))
        .words.emplace_back(giftsync::to_word(status));
  add(gift, plain_field("Record_Version__c", "double"));
  ObjectFacts& request = facts.objects["request_record"];
  for (const RequestRecordField field : names.request_record_fields()) {
    FieldFacts made = plain_field(names.field(field), describe_type(descriptor_of(field).type));
    made.targets = {"Account", "Opportunity", "Contact", "Lead", "User"};
    add(request, made);
  }
  for (const char* name : {"Claimed__c", "Guard_Modified__c", "Guard_Mark__c", "Creation_Key__c"})
    add(request, plain_field(name, "string"));
  ObjectFacts& task = facts.objects["task"];
  add(task, plain_field("RecipientTransactionId__c", "double"));
  add(task, plain_field("WhatId", "reference"));
  task.fields["whatid"].targets = {"Account", "Gift_Record__c"};
  for (const auto& [object, fields] :
       {std::pair("contact", std::vector{"Name", "AccountId", "Email", "Phone", "LastModifiedDate"}),
        std::pair("lead", std::vector{"Name", "IsConverted", "Email", "Phone", "LastModifiedDate"}),
        std::pair("opportunity", std::vector{"Name", "StageName", "AccountId", "CloseDate", "IsClosed"}),
        std::pair("opportunity_contact_role", std::vector{"ContactId", "OpportunityId"}),
        std::pair("user", std::vector{"Name", "Email", "IsActive"})}) {
    for (const char* field : fields) add(facts.objects[object], plain_field(field, "string"));
  }
  add_keys(facts);
  facts.view_all = {"Contact", "Lead", "Account", "Opportunity", "Gift_Record__c", "Request_Record__c"};
  facts.rules.emplace();
  for (const PackageRule& rule : package_rules())
    facts.rules->push_back({rule.object, rule.name, true, rule.message});
  facts.calls = {15'000, 14'000};
  return facts;
}

}  // namespace giftsync::salesforce
