// daemon/salesforce: the SOQL of questions about people, opportunities and permission sets.
#include <limits>
#include <utility>

#include "daemon/salesforce/soql_text.h"
#include "daemon/salesforce/statements.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::crm::OrderBy;
using schema::crm::PersonMatchFields;
using schema::crm::PersonObject;

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

std::string_view object_word(PersonObject object) {
  return object == PersonObject::contact ? "contact" : "lead";
}

std::vector<std::string> mapped(const ApiNames& names, std::string_view object,
                                const std::vector<std::string>& fields) {
  std::vector<std::string> mapped;
  for (const std::string& field : fields) mapped.push_back(names.field(object, field));
  return mapped;
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

ValueLiterals text_literals(std::span<const std::vector<std::string>> texts) {
  ValueLiterals values(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const std::string& text : texts[i]) {
      const std::optional<std::string> literal = text.empty() ? std::nullopt : text_literal(text);
      if (literal) values[i].push_back(*literal);
    }
  }
  return values;
}

ValueLiterals email_literals(std::span<const std::string> keys) {
  std::vector<std::vector<std::string>> spellings;
  for (const std::string& key : keys) {
    std::string unicode = schema::email_key_in_unicode(key);
    spellings.push_back({key});
    if (unicode != key) spellings.back().push_back(std::move(unicode));
  }
  return text_literals(spellings);
}

Select persons(const ApiNames& names, PersonObject object, const PersonMatchFields& fields) {
  const std::string_view word = object_word(object);
  const std::string order = names.field(word, fields.order_by.field);
  Select select{{"Id", names.field(word, "Name")}, names.object(word), {}, {}, 0};
  if (object == PersonObject::contact) select.fields.push_back(names.field(word, "AccountId"));
  append(select.fields, mapped(names, word, fields.email_fields));
  append(select.fields, mapped(names, word, fields.phone_fields));
  select.fields.push_back(order);
  select.order = order_by(order, fields.order_by.descending);
  if (object == PersonObject::contact) return select;
  // Converted ones never match, but explain why nothing does: they come last.
  select.fields.emplace_back("IsConverted");
  select.order = "IsConverted ASC, " + select.order;
  return select;
}

/// Nothing to ask of an object that the org does not have.
std::vector<Statement> ask(const Select& select, const std::vector<std::string>& fields,
                           const ValueLiterals& values) {
  if (select.from.empty()) return {};
  return split(select, fields, values, kAnyNumber);
}

std::string over(std::string_view lookup, const std::string& field) {
  return field.empty() ? field : std::string(lookup) + "." + field;
}

Select open_roles(const ApiNames& names, const OrderBy& order) {
  const std::string order_field = over("Opportunity", names.field("opportunity", order.field));
  Select select{{"ContactId", "OpportunityId"}, names.object("opportunity_contact_role"), {}, {}, 0};
  for (const char* field : {"Name", "StageName", "AccountId"})
    select.fields.push_back(over("Opportunity", names.field("opportunity", field)));
  select.fields.push_back(order_field);
  select.conditions.emplace_back("Opportunity.IsClosed = false");
  select.order = order_by(order_field, order.descending, "OpportunityId");
  return select;
}

Select users(const ApiNames& names) {
  return {{"Id", "Name", names.field("user", "Email"), "IsActive"},
          names.object("user"),
          {},
          "IsActive DESC, Id ASC",
          0};
}

}  // namespace

std::vector<Statement> persons_by_email(const ApiNames& names, PersonObject object,
                                        const PersonMatchFields& fields,
                                        std::span<const std::string> email_keys) {
  return ask(persons(names, object, fields), mapped(names, object_word(object), fields.email_fields),
             email_literals(email_keys));
}

std::vector<Statement> persons_by_phone(const ApiNames& names, PersonObject object,
                                        const PersonMatchFields& fields,
                                        std::span<const std::vector<std::string>> spellings) {
  return ask(persons(names, object, fields), mapped(names, object_word(object), fields.phone_fields),
             text_literals(spellings));
}

std::vector<Statement> roles_by_email(const ApiNames& names, const std::vector<std::string>& email_fields,
                                      const OrderBy& order, std::span<const std::string> email_keys) {
  std::vector<std::string> fields;
  for (const std::string& field : mapped(names, "contact", email_fields))
    fields.push_back(over("Contact", field));
  return ask(open_roles(names, order), fields, email_literals(email_keys));
}

std::vector<Statement> roles_by_contact(const ApiNames& names, const OrderBy& order,
                                        std::span<const std::string> contact_ids) {
  return ask(open_roles(names, order), {"ContactId"}, id_literals(contact_ids));
}

std::vector<Statement> users_by_email(const ApiNames& names, std::span<const std::string> email_keys) {
  return ask(users(names), {names.field("user", "Email")}, email_literals(email_keys));
}

std::vector<Statement> users_by_id(const ApiNames& names, std::span<const std::string> ids) {
  return ask(users(names), {"Id"}, id_literals(ids));
}

std::vector<Statement> accounts_of_contacts(const ApiNames& names, std::span<const std::string> contact_ids) {
  return ask({{"Id", names.field("contact", "AccountId")}, names.object("contact"), {}, "Id ASC", 0}, {"Id"},
             id_literals(contact_ids));
}

std::vector<Statement> converted_leads(const ApiNames& names, std::span<const std::string> lead_ids) {
  const Select select{{"Id", "ConvertedContactId", "ConvertedContact.Name", "ConvertedContact.AccountId"},
                      names.object("lead"),
                      {"IsConverted = true"},
                      "Id ASC",
                      0};
  return ask(select, {"Id"}, id_literals(lead_ids));
}

std::vector<Statement> persons_by_id(const ApiNames& names, PersonObject object,
                                     std::span<const std::string> ids) {
  const std::string_view word = object_word(object);
  Select select{
      {"Id", names.field(word, "Email"), names.field(word, "FirstName"), names.field(word, "LastName")},
      names.object(word),
      {},
      "Id ASC",
      0};
  if (object == PersonObject::contact) select.fields.push_back(names.field(word, "AccountId"));
  return ask(select, {"Id"}, id_literals(ids));
}

std::vector<Statement> opportunities_by_id(const ApiNames& names, std::span<const std::string> ids) {
  Select select{{"Id"}, names.object("opportunity"), {}, "Id ASC", 0};
  append(select.fields, mapped(names, "opportunity", {"Name", "AccountId", "StageName"}));
  return ask(select, {"Id"}, id_literals(ids));
}

std::vector<Statement> permission_set_assignments(std::span<const std::string> user_ids) {
  const Select select{{"AssigneeId", "PermissionSet.Name", "PermissionSet.NamespacePrefix",
                       "PermissionSetGroupId", "IsActive", "ExpirationDate"},
                      "PermissionSetAssignment",
                      {},
                      "AssigneeId ASC, Id ASC",
                      0};
  return ask(select, {"AssigneeId"}, id_literals(user_ids));
}

std::vector<Statement> permission_set_assignments_by_email(const ApiNames& names,
                                                           std::span<const std::string> email_keys) {
  const std::string email = over("Assignee", names.field("user", "Email"));
  const Select select{{"AssigneeId", email, "PermissionSet.Name", "PermissionSet.NamespacePrefix",
                       "PermissionSetGroupId", "IsActive", "ExpirationDate"},
                      "PermissionSetAssignment",
                      {"Assignee.IsActive = true"},
                      "AssigneeId ASC, Id ASC",
                      0};
  return ask(select, {email}, email_literals(email_keys));
}

std::vector<Statement> permission_set_group_parts(std::span<const std::string> group_ids) {
  const Select select{{"PermissionSetGroupId", "PermissionSet.Name", "PermissionSet.NamespacePrefix"},
                      "PermissionSetGroupComponent",
                      {},
                      "PermissionSetGroupId ASC, Id ASC",
                      0};
  return ask(select, {"PermissionSetGroupId"}, id_literals(group_ids));
}

std::vector<Statement> lookup_targets(const ApiNames& names, std::string_view object,
                                      std::span<const std::string> ids) {
  Select select{{"Id"}, names.object(object), {}, "Id ASC", 0};
  if (object != "user") select.fields.emplace_back("IsDeleted");
  if (object == "contact" || object == "account" || object == "lead")
    select.fields.emplace_back("MasterRecordId");
  return ask(select, {"Id"}, id_literals(ids));
}

}  // namespace giftsync::daemon::salesforce
