// The standard objects, as far as giftsync reads or writes them. A field is written "Name:kind:length" with
// flags: ! required, - read only, > target objects.
#include <sstream>
#include <stdexcept>

#include "platform/text.h"
#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {
namespace {

struct StandardObject {
  const char* name;
  const char* label;
  const char* plural_label;
  const char* table;
  const char* prefix;
  const char* fields;
  bool is_read_only = false;
};

// clang-format off
constexpr StandardObject kStandardObjects[] = {
    {"Account", "Account", "Accounts", "crm_account", "001",
     "Name:text:255! Phone:phone:40 Website:url:255 Type:picklist:255 Industry:picklist:255 AccountNumber:text:40 "
     "BillingCity:text:40 BillingState:text:80 MasterRecordId:reference-:>Account OwnerId:reference:>User"},
    {"Contact", "Contact", "Contacts", "crm_contact", "003",
     "LastName:text:80! FirstName:text:40 Salutation:picklist:40 Name:text-:121 Email:email:80 Phone:phone:40 "
     "MobilePhone:phone:40 HomePhone:phone:40 OtherPhone:phone:40 AccountId:reference:>Account Title:text:128 "
     "Department:text:80 LeadSource:picklist:255 Birthdate:date MasterRecordId:reference-:>Contact OwnerId:reference:>User"},
    {"Lead", "Lead", "Leads", "crm_lead", "00Q",
     "LastName:text:80! FirstName:text:40 Salutation:picklist:40 Name:text-:121 Company:text:255! Title:text:128 "
     "Email:email:80 Phone:phone:40 MobilePhone:phone:40 Status:picklist:255 Rating:picklist:255 LeadSource:picklist:255 "
     "IsConverted:checkbox- ConvertedDate:date- ConvertedContactId:reference-:>Contact "
     "ConvertedAccountId:reference-:>Account ConvertedOpportunityId:reference-:>Opportunity "
     "MasterRecordId:reference-:>Lead OwnerId:reference:>User"},
    {"Opportunity", "Opportunity", "Opportunities", "crm_opportunity", "006",
     "Name:text:120! AccountId:reference:>Account ContactId:reference:>Contact StageName:picklist:255! Amount:currency CloseDate:date! "
     "IsClosed:checkbox- IsWon:checkbox- Type:picklist:255 LeadSource:picklist:255 OwnerId:reference:>User"},
    {"OpportunityContactRole", "Opportunity Contact Role", "Opportunity Contact Roles",
     "crm_opportunity_contact_role", "00K",
     "OpportunityId:reference!:>Opportunity ContactId:reference!:>Contact Role:picklist:40 IsPrimary:checkbox"},
    {"User", "User", "Users", "crm_user", "005",
     "Username:text:80! LastName:text:80! FirstName:text:40 Name:text-:121 Email:email:128 IsActive:checkbox LocaleSidKey:picklist:40 LanguageLocaleKey:picklist:40", true},
    {"Task", "Task", "Tasks", "crm_task", "00T",
     "WhoId:reference:>Contact,Lead WhatId:reference:>* Subject:text:255 ActivityDate:date Status:picklist:255 "
     "Priority:picklist:255 Type:picklist:255 Description:long_text:32000 OwnerId:reference:>User"},
    {"Organization", "Organization", "Organizations", "crm_organization", "00D",
     "Name:text:80 IsSandbox:checkbox- OrganizationType:picklist:40 InstanceName:text:5", true},
    {"PermissionSet", "Permission Set", "Permission Sets", "crm_permission_set", "0PS",
     "Name:text:80! Label:text:80 NamespacePrefix:text:15 PermissionsViewAllData:checkbox"},
    {"ObjectPermissions", "Object Permissions", "Object Permissions", "crm_object_permissions", "110",
     "ParentId:reference!:>PermissionSet SobjectType:picklist:40 PermissionsRead:checkbox PermissionsCreate:checkbox "
     "PermissionsEdit:checkbox PermissionsDelete:checkbox PermissionsViewAllRecords:checkbox"},
    {"EntityDefinition", "Entity Definition", "Entity Definitions", "crm_entity_definition", "4ie",
     "QualifiedApiName:text:120", true},
    {"ValidationRule", "Validation Rule", "Validation Rules", "crm_validation_rule", "03d",
     "ValidationName:text:80 Active:checkbox ErrorMessage:text:255 EntityDefinitionId:reference:>EntityDefinition", true},
    {"PermissionSetAssignment", "Permission Set Assignment", "Permission Set Assignments",
     "crm_permission_set_assignment", "0Pa",
     "AssigneeId:reference!:>User PermissionSetId:reference!:>PermissionSet PermissionSetGroupId:reference:>PermissionSet "
     "IsActive:checkbox- ExpirationDate:date_time"},
    {"PermissionSetGroupComponent", "Permission Set Group Component", "Permission Set Group Components",
     "crm_permission_set_group_component", "0PG",
     "PermissionSetId:reference!:>PermissionSet PermissionSetGroupId:reference!:>PermissionSet"},
};
// clang-format on

Kind kind_of(const std::string& word) {
  constexpr std::pair<const char*, Kind> kKinds[] = {
      {"reference", Kind::reference}, {"text", Kind::text},         {"long_text", Kind::long_text},
      {"email", Kind::email},         {"phone", Kind::phone},       {"url", Kind::url},
      {"picklist", Kind::picklist},   {"currency", Kind::currency}, {"number", Kind::number},
      {"checkbox", Kind::checkbox},   {"date", Kind::date},         {"date_time", Kind::date_time}};
  for (const auto& [name, kind] : kKinds) {
    if (word == name) return kind;
  }
  throw std::logic_error("standard object: no kind " + word);
}

/// "OwnerId" -> "Owner".
std::string relationship_of(const std::string& name) {
  return name.ends_with("Id") ? name.substr(0, name.size() - 2) : name;
}

void set_details(Field& field, const std::string& text) {
  if (!text.starts_with(">")) {
    field.length = parse_number<int>(text).value();
    return;
  }
  std::istringstream targets(text.substr(1));
  for (std::string target; std::getline(targets, target, ',');) field.targets.push_back(target);
}

bool take_flag(std::string& text, char flag) {
  const std::size_t at = text.find(flag);
  if (at == std::string::npos) return false;
  text.erase(at, 1);
  return true;
}

Field parse_field(std::string text) {
  Field field;
  field.is_required = take_flag(text, '!');
  const bool is_read_only = take_flag(text, '-');
  field.is_createable = field.is_updateable = !is_read_only;
  std::istringstream parts(text);
  std::string kind;
  std::string details;
  std::getline(parts, field.name, ':');
  std::getline(parts, kind, ':');
  std::getline(parts, details);
  field.label = field.name;
  field.column = ascii_lower(field.name);
  field.kind = kind_of(kind);
  if (!details.empty()) set_details(field, details);
  if (field.kind == Kind::reference) field.relationship = relationship_of(field.name);
  if (field.kind == Kind::currency) {
    field.precision = 18;
    field.scale = 2;
  }
  return field;
}

Field stamp(const char* name, Kind kind) {
  Field field;
  field.name = field.label = name;
  field.column = ascii_lower(name);
  field.kind = kind;
  field.is_createable = field.is_updateable = false;
  if (kind == Kind::reference) {
    field.targets = {"User"};
    field.relationship = relationship_of(name);
  }
  return field;
}

Object make_object(const StandardObject& standard) {
  Object object;
  object.name = standard.name;
  object.label = standard.label;
  object.plural_label = standard.plural_label;
  object.table = standard.table;
  object.key_prefix = standard.prefix;
  object.is_read_only = standard.is_read_only;
  object.fields = system_fields();
  std::istringstream words(standard.fields);
  for (std::string word; words >> word;) object.fields.push_back(parse_field(word));
  return object;
}

}  // namespace

std::vector<Field> system_fields() {
  return {stamp("Id", Kind::id),
          stamp("IsDeleted", Kind::checkbox),
          stamp("CreatedDate", Kind::date_time),
          stamp("CreatedById", Kind::reference),
          stamp("LastModifiedDate", Kind::date_time),
          stamp("LastModifiedById", Kind::reference),
          stamp("SystemModstamp", Kind::date_time)};
}

std::vector<Object> standard_objects() {
  std::vector<Object> objects;
  for (const StandardObject& standard : kStandardObjects) objects.push_back(make_object(standard));
  return objects;
}

}  // namespace giftsync::tests::fake_org
