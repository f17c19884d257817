// Objects and fields: there, of the right type, wide enough, readable and writable where giftsync does so.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "crm/salesforce/org/org_findings.h"
#include "crm/salesforce/org/write_mode.h"
#include "schema/enums.h"

namespace giftsync::salesforce {
namespace {
using Severity = Finding::Severity;

struct TypeNames {
  FieldType type;
  std::vector<std::string_view> names;  ///< of describe, the usual one first
};

const std::vector<std::string_view>& accepted_types(FieldType type) {
  static const std::vector<TypeNames> kTypes{
      {FieldType::text, {"string", "textarea", "picklist", "combobox"}},
      {FieldType::long_text, {"textarea", "string"}},
      {FieldType::email, {"email", "string"}},
      {FieldType::phone, {"phone", "string"}},
      {FieldType::url, {"url", "string"}},
      {FieldType::picklist, {"picklist", "string", "combobox"}},
      {FieldType::lookup, {"reference"}},
      {FieldType::currency, {"currency", "double"}},
      {FieldType::number, {"double", "int", "currency"}},
      {FieldType::date_time, {"datetime"}},
      {FieldType::checkbox, {"boolean"}}};
  return std::ranges::find(kTypes, type, &TypeNames::type)->names;
}

/// One field that giftsync uses, as it should be.
struct WantedField {
  const FieldDescriptor& descriptor;
  std::string name;
  bool is_vital = false;                ///< without it nothing is written
  bool is_created = false;              ///< giftsync gives it a value when it makes a record
  bool is_updated = false;              ///< and later
  std::string target = {};              ///< of a lookup
  std::vector<std::string> words = {};  ///< that giftsync writes into a picklist
};

std::string missing_words(const FieldFacts& field, const std::vector<std::string>& words) {
  std::vector<std::string> missing;
  for (const std::string& word : words) {
    if (std::ranges::count(field.words, word) == 0) missing.push_back(word);
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

void check_access(const FieldFacts& field, const WantedField& wanted, const std::string& subject,
                  FindingList& list) {
  const Severity severity = wanted.is_vital ? Severity::fault : Severity::warning;
  // Only a permission that is rarely given allows to set it.
  if (wanted.descriptor.name == "CreatedById") return;
  if (wanted.is_created && !field.is_createable)
    list.add(severity, subject, "the user may not write it, so it stays empty", list.to_write());
  else if (wanted.is_updated && !field.is_updateable)
    list.add(severity, subject, "the user may not change it, so giftsync leaves it out", list.to_write());
}

void check_content(const FieldFacts& field, const WantedField& wanted, const std::string& subject,
                   FindingList& list) {
  const FieldDescriptor& descriptor = wanted.descriptor;
  if (descriptor.type == FieldType::text && field.length > 0 && field.length < descriptor.length)
    list.add(
        Severity::warning, subject,
        fmt::format("it takes {} characters, and giftsync writes up to {}: Salesforce refuses longer texts",
                    field.length, descriptor.length),
        fmt::format("set its length to {} (Setup, Object Manager)", descriptor.length));
  if (!wanted.target.empty() && std::ranges::count(field.targets, wanted.target) == 0)
    list.add(Severity::fault, subject,
             fmt::format("it refers to {}, not to {}", fmt::join(field.targets, ", "), wanted.target),
             "name the right field in crm.columns");
  if (const std::string missing = missing_words(field, wanted.words); field.is_restricted && !missing.empty())
    list.add(
        wanted.is_vital ? Severity::fault : Severity::warning, subject,
        fmt::format("the picklist is restricted and lacks {}: Salesforce refuses records with them", missing),
        "add the values, or clear \"Restrict picklist to the values defined in the value set\"");
}

void check_field(const ObjectFacts& object, const WantedField& wanted, FindingList& list) {
  if (wanted.name.empty()) return;
  const std::string subject = object.name + "." + wanted.name;
  const FieldFacts* field = object.find(wanted.name);
  if (field == nullptr) {
    list.add(wanted.is_vital ? Severity::fault : Severity::warning, subject,
             wanted.is_vital ? "it is missing, or the user may not see it"
                             : "it is missing, or the user may not see it, so giftsync leaves it out",
             list.to_see(wanted.name));
    return;
  }
  const std::vector<std::string_view>& types = accepted_types(wanted.descriptor.type);
  if (std::ranges::count(types, field->type) == 0) {
    list.add(Severity::fault, subject,
             fmt::format("its type is {}; giftsync writes {}", field->type, fmt::join(types, " or ")),
             "name a field of that type in crm.columns, or '-' to leave it out");
    return;
  }
  check_access(*field, wanted, subject, list);
  check_content(*field, wanted, subject, list);
}

std::vector<std::string> words_of(GiftField field) {
  std::vector<std::string> words;
  if (field == GiftField::delivered_by) words.emplace_back("email");
  if (field == GiftField::status) {
    for (const Status status : kAllStatuses) words.emplace_back(giftsync::to_word(status));
  }
  return words;
}

WantedField wanted_field(GiftField field, const ApiNames& names) {
  const FieldDescriptor& descriptor = descriptor_of(field);
  return {.descriptor = descriptor,
          .name = names.field(field),
          .is_vital = is_vital(field),
          .is_created = descriptor.owner != FieldOwner::crm,
          .is_updated = descriptor.owner == FieldOwner::giftsync,
          .target = descriptor.standard ? std::string() : names.object(target_object(field)),
          .words = words_of(field)};
}

std::string target_object(RequestRecordField field, const ApiNames& names) {
  switch (field) {
    case RequestRecordField::account:
      return names.object("account");
    case RequestRecordField::opportunity:
      return names.object("opportunity");
    case RequestRecordField::recipient_contact:
      return names.object("contact");
    case RequestRecordField::recipient_lead:
      return names.object("lead");
    case RequestRecordField::sender:
      return names.object("user");
    default:
      return {};
  }
}

bool is_in(std::span<const RequestRecordField> fields, RequestRecordField field) {
  return std::ranges::count(fields, field) > 0;
}

WantedField wanted_field(RequestRecordField field, const ApiNames& names) {
  using F = RequestRecordField;
  constexpr auto kUpdated = std::to_array({F::status, F::error_log, F::auto_approved, F::item_link});
  WantedField wanted{.descriptor = descriptor_of(field),
                     .name = names.field(field),
                     .is_vital = field != F::utm_campaign_id,  // every query names the others
                     .is_created = is_in(creatable_fields(), field),
                     .is_updated = is_in(kUpdated, field),
                     .target = target_object(field, names)};
  if (field == F::status) {
    for (const RequestRecordStatus status : kAllRequestRecordStatuses)
      wanted.words.emplace_back(giftsync::to_word(status));
  }
  return wanted;
}

struct PersonFields {
  std::string_view object;
  const crm::PersonMatchFields& fields;
};

void check_match_field(const ObjectFacts& object, const std::string& name, std::string_view key,
                       FindingList& list) {
  if (name.empty()) return;
  const std::string subject = object.name + "." + name;
  const FieldFacts* field = object.find(name);
  if (field == nullptr)
    list.add(Severity::fault, subject, "it is missing, or the user may not see it",
             fmt::format("let the user read it, or name another field in {}", key));
  else if (!field->is_filterable)
    list.add(Severity::fault, subject, "Salesforce does not search in it (it is encrypted or a long text)",
             fmt::format("name another field in {}", key));
}

void check_person(const OrgFacts& facts, const ApiNames& names, const PersonFields& person,
                  FindingList& list) {
  const std::string name = names.object(person.object);
  const ObjectFacts* object = facts.find(person.object);
  if (name.empty()) return;
  if (object == nullptr) {
    list.add(Severity::fault, name, "the user may not read it, so no recipient is found there",
             list.to_write());
    return;
  }
  const std::string key = fmt::format("matching.{}", person.object);
  for (const std::string& field : person.fields.email_fields)
    check_match_field(*object, names.field(person.object, field), key + ".email_fields", list);
  for (const std::string& field : person.fields.phone_fields)
    check_match_field(*object, names.field(person.object, field), key + ".phone_fields", list);
  const std::string order = names.field(person.object, person.fields.order_by.field);
  const FieldFacts* field = object->find(order);
  if (!order.empty() && (field == nullptr || !field->is_sortable))
    list.add(
        Severity::fault, object->name + "." + order,
        field == nullptr ? "it is missing, or the user may not see it" : "Salesforce does not sort by it",
        fmt::format("name another field in {}.order_by", key));
}

/// Fields that giftsync asks for whatever the settings say.
void check_read_fields(const OrgFacts& facts, const ApiNames& names, FindingList& list) {
  struct Wanted {
    std::string_view object;
    std::vector<std::string_view> fields;
  };
  const std::vector<Wanted> all{{"contact", {"Name", "AccountId"}},
                                {"lead", {"Name", "IsConverted"}},
                                {"opportunity", {"Name", "StageName", "AccountId", "CloseDate", "IsClosed"}},
                                {"opportunity_contact_role", {"ContactId", "OpportunityId"}},
                                {"user", {"Name", "Email", "IsActive"}}};
  for (const Wanted& wanted : all) {
    const ObjectFacts* object = facts.find(wanted.object);
    if (object == nullptr) continue;
    for (const std::string_view field : wanted.fields) {
      const std::string name = names.field(wanted.object, field);
      if (!name.empty() && object->find(name) == nullptr)
        list.add(Severity::fault, object->name + "." + name, "the user may not see it",
                 "let the user read it (Setup, Permission Sets, Object Settings)");
    }
  }
}

/// A row that the user does not see looks like no row. `loss`: what follows from it.
void check_view_all(const OrgFacts& facts, const std::string& name, std::string_view loss,
                    FindingList& list) {
  if (name.empty()) return;
  if (!facts.view_all)
    list.add(Severity::warning, name,
             "whether the user sees all of its records is unknown: it may not read permissions",
             "give the user the permission View Setup and Configuration");
  else if (!facts.view_all->contains(name))
    list.add(Severity::warning, name, fmt::format("the user may not see all of its records, so {}", loss),
             list.to_write());
}

}  // namespace

void check_gift_fields(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list) {
  const ObjectFacts* gift = facts.find("gift_record");
  if (gift == nullptr) return;
  for (const GiftField field : expected.names.gift_fields())
    check_field(*gift, wanted_field(field, expected.names), list);
  if (gift->find("CurrencyIsoCode") != nullptr)
    list.add(Severity::warning, gift->name,
             "the org has several currencies: amounts are saved in the currency of the user",
             "set that user's currency to the one of the gifts' prices");
}

void check_request_fields(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list) {
  const ObjectFacts* request = facts.find("request_record");
  if (request == nullptr || !expected.has_requests) return;
  for (const RequestRecordField field : expected.names.request_record_fields())
    check_field(*request, wanted_field(field, expected.names), list);
  check_view_all(facts, request->name, "some may never be sent", list);
  const std::string& name = expected.names.field(RequestRecordField::auto_approved);
  const FieldFacts* approved = request->find(name);
  // A checkbox of Salesforce is never empty, so the org's default decides.
  if (approved != nullptr && approved->is_checked_by_default != expected.auto_approves_requests)
    list.add(Severity::warning, request->name + "." + name,
             fmt::format("its default is {}, and requests.auto_approved_default is {}",
                         approved->is_checked_by_default, expected.auto_approves_requests),
             "make both the same: the field's default decides, since a checkbox is never empty");
}

void check_matching(const OrgFacts& facts, const OrgExpectations& expected, FindingList& list) {
  check_person(facts, expected.names, {"contact", expected.match_fields.contact}, list);
  check_person(facts, expected.names, {"lead", expected.match_fields.lead}, list);
  check_read_fields(facts, expected.names, list);
  for (const std::string_view object : {"contact", "lead", "account", "opportunity"})
    check_view_all(facts, expected.names.object(object), "\"no match\" may be false", list);
}

}  // namespace giftsync::salesforce
