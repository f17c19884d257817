#include "daemon/salesforce/package_fields.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "schema/enums.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::FieldDescriptor;
using schema::FieldType;
using schema::GiftField;
using schema::RequestRecordField;
using Elements = std::vector<MetadataElement>;

std::string own_name(const FieldDescriptor& field) {
  return field.standard ? std::string(field.name) : std::string(field.name) + "__c";
}

MetadataElement type_is(std::string_view type) {
  return metadata_leaf("type", type);
}

Elements text_field(int length) {
  return {type_is("Text"), metadata_leaf("length", std::to_string(length))};
}

Elements number_field(std::string_view type, int precision, int scale) {
  return {type_is(type), metadata_leaf("precision", std::to_string(precision)),
          metadata_leaf("scale", std::to_string(scale))};
}

Elements checkbox_field() {
  return {type_is("Checkbox"), metadata_flag("defaultValue", false)};
}

/// Unrestricted: an admin may remove or add words, and a write never fails because of that.
Elements picklist_field(const std::vector<std::string>& words, std::string_view default_word = {}) {
  MetadataElement definition{"valueSetDefinition", {}, {metadata_flag("sorted", false)}};
  for (const std::string& word : words) {
    definition.children.push_back(
        {"value",
         {},
         {metadata_leaf("fullName", word), metadata_flag("default", word == default_word),
          metadata_leaf("label", word)}});
  }
  return {type_is("Picklist"), {"valueSet", {}, {metadata_flag("restricted", false), std::move(definition)}}};
}

/// The relationship's name is unique for each parent, since it has the field's name.
Elements lookup_field(std::string_view target, const FieldDescriptor& field, std::string_view object) {
  const std::string name(object);
  return {type_is("Lookup"), metadata_leaf("deleteConstraint", "SetNull"),
          metadata_leaf("referenceTo", target),
          metadata_leaf("relationshipLabel", name + " Records (" + std::string(field.label) + ")"),
          metadata_leaf("relationshipName", name + "_Records_" + std::string(field.name))};
}

Elements formula_field(std::string_view formula) {
  return {type_is("Checkbox"), metadata_leaf("formula", formula)};
}

/// Types that follow from the table alone; nullopt for lookups, picklists and checkboxes.
std::optional<Elements> plain_field(const FieldDescriptor& field) {
  switch (field.type) {
    case FieldType::text:
      return text_field(field.length);
    case FieldType::long_text:
      return Elements{type_is("LongTextArea"), metadata_leaf("length", std::to_string(field.length)),
                      metadata_leaf("visibleLines", "5")};
    case FieldType::email:
      return Elements{type_is("Email")};
    case FieldType::phone:
      return Elements{type_is("Phone")};
    case FieldType::url:
      return Elements{type_is("Url")};
    case FieldType::currency:
      return number_field("Currency", 18, 2);
    case FieldType::number:
      return number_field("Number", field.length, 0);
    case FieldType::date_time:
      return Elements{type_is("DateTime")};
    default:
      return std::nullopt;
  }
}

void add(Elements& elements, Elements more) {
  for (MetadataElement& one : more) elements.push_back(std::move(one));
}

Elements external_id(bool unique) {
  Elements elements{metadata_flag("externalId", true)};
  if (unique) elements.push_back(metadata_flag("unique", true));
  return elements;
}

std::string_view target_of(GiftField field) {
  switch (field) {
    case GiftField::account:
      return "Account";
    case GiftField::opportunity:
      return "Opportunity";
    case GiftField::recipient_contact:
      return "Contact";
    case GiftField::recipient_lead:
      return "Lead";
    default:
      return "User";
  }
}

std::string_view target_of(RequestRecordField field) {
  switch (field) {
    case RequestRecordField::account:
      return "Account";
    case RequestRecordField::opportunity:
      return "Opportunity";
    case RequestRecordField::recipient_contact:
      return "Contact";
    case RequestRecordField::recipient_lead:
      return "Lead";
    default:
      return "User";
  }
}

std::string formula_of(GiftField field) {
  const auto is_set = [](GiftField time) { return "NOT(ISBLANK(" + packaged_name(time) + "))"; };
  if (field == GiftField::opened) return is_set(GiftField::opened_time);
  if (field == GiftField::redeemed) return is_set(GiftField::redeemed_time);
  if (field != GiftField::delivered) std::abort();  // a bug: a checkbox without its formula
  const std::string undelivered = packaged_name(GiftField::undelivered_time);
  return "AND(" + is_set(GiftField::delivered_time) + ", OR(ISBLANK(" + undelivered + "), " +
         packaged_name(GiftField::delivered_time) + " >= " + undelivered + "))";
}

Elements gift_picklist(GiftField field) {
  if (field == GiftField::delivered_by) return picklist_field({"email"});
  std::vector<std::string> words;
  for (const schema::Status status : schema::kAllStatuses) words.emplace_back(schema::to_word(status));
  return picklist_field(words);
}

Elements request_picklist() {
  std::vector<std::string> words;
  for (const schema::RequestRecordStatus status : schema::kAllRequestRecordStatuses)
    words.emplace_back(schema::to_word(status));
  return picklist_field(words, words.front());
}

PackageField guard(std::string_view name, std::string_view label, Elements elements,
                   std::string_view description) {
  elements.push_back(metadata_leaf("description", description));
  return {std::string(name), std::string(label), std::move(elements), true, true};
}

PackageField gift_field(GiftField field) {
  const FieldDescriptor& descriptor = descriptor_of(field);
  PackageField made{packaged_name(field), std::string(descriptor.label), {}};
  if (std::optional<Elements> plain = plain_field(descriptor)) {
    made.elements = *std::move(plain);
  } else if (descriptor.type == FieldType::lookup) {
    made.elements = lookup_field(target_of(field), descriptor, "Gift");
  } else if (descriptor.type == FieldType::picklist) {
    made.elements = gift_picklist(field);
  } else {
    made.elements = formula_field(formula_of(field));
    made.is_editable = false;
  }
  if (field == GiftField::transaction_id) add(made.elements, external_id(true));
  // An external id has an index, which finds the gifts of an address.
  if (field == GiftField::recipient_email) add(made.elements, external_id(false));
  return made;
}

PackageField request_field(RequestRecordField field, std::string_view word) {
  const FieldDescriptor& descriptor = descriptor_of(field);
  PackageField made{packaged_name(field, word), std::string(descriptor.label), {}};
  if (field == RequestRecordField::send_type)
    made.elements = {type_is("TextArea")};
  else if (std::optional<Elements> plain = plain_field(descriptor))
    made.elements = *std::move(plain);
  else if (descriptor.type == FieldType::lookup)
    made.elements = lookup_field(target_of(field), descriptor, "Request");
  else if (descriptor.type == FieldType::picklist)
    made.elements = request_picklist();
  else
    made.elements = checkbox_field();
  return made;
}

}  // namespace

std::string packaged_name(GiftField field) {
  return own_name(descriptor_of(field));
}

std::string packaged_name(RequestRecordField field, std::string_view word) {
  const std::string own(word);
  if (field == RequestRecordField::error_log) return own + "_Error_Log__c";
  if (field == RequestRecordField::item_link) return "Item_in_" + own + "__c";
  if (field == RequestRecordField::include_shipping) return "Include_" + own + "_Shipping__c";
  return own_name(descriptor_of(field));
}

std::vector<PackageField> gift_package_fields() {
  std::vector<PackageField> fields;
  for (std::size_t at = 0; at < schema::kGiftFieldCount; ++at) {
    if (!schema::kGiftFields[at].standard) fields.push_back(gift_field(static_cast<GiftField>(at)));
  }
  fields.push_back(guard("Record_Version__c", "Record Version", number_field("Number", 18, 0),
                         "Grows with every change that giftsync writes. An older one never overwrites it."));
  return fields;
}

std::vector<PackageField> request_package_fields(std::string_view word) {
  std::vector<PackageField> fields;
  for (std::size_t at = 0; at < schema::kRequestRecordFieldCount; ++at) {
    if (!schema::kRequestRecordFields[at].standard)
      fields.push_back(request_field(static_cast<RequestRecordField>(at), word));
  }
  fields.push_back(guard("Claimed__c", "Claimed", checkbox_field(),
                         "giftsync is sending this gift. It can no longer be rejected."));
  fields.push_back(guard("Guard_Modified__c", "Guard Modified", {type_is("DateTime")},
                         "The Last Modified Date that giftsync read before its last write."));
  fields.push_back(guard("Guard_Mark__c", "Guard Mark", text_field(64), "Identifies giftsync's last write."));
  Elements key = text_field(64);
  add(key, external_id(true));
  key.push_back(metadata_flag("caseSensitive", true));
  fields.push_back(guard("Creation_Key__c", "Creation Key", std::move(key),
                         "The key under which giftsync created this record once."));
  return fields;
}

PackageField task_key_field() {
  Elements elements = number_field("Number", 18, 0);
  add(elements, external_id(true));
  elements.push_back(metadata_leaf("description", "The gift that giftsync made this task for."));
  return {std::string(kTaskKeyField), "Gift Transaction Id", std::move(elements), true, true};
}

}  // namespace giftsync::daemon::salesforce
