#include "tests/salesforce/fake_org/field_input.h"

#include <algorithm>
#include <cmath>

#include "crm/salesforce/calls/soql.h"
#include "platform/text.h"
#include "tests/salesforce/fake_org/record_ids.h"

namespace giftsync::tests::fake_org {
namespace {

using Input = std::variant<Value, RowError>;

RowError refusal(const char* code, const Field& field, const std::string& words) {
  return {code, field.label + ": " + words, {field.name}};
}

[[noreturn]] void refuse_type(const Field& field, const Json& given) {
  throw ApiError(400, "JSON_PARSER_ERROR",
                 "Cannot deserialize the value of " + field.name + " from " + given.dump());
}

bool is_email(const std::string& text) {
  const std::size_t at = text.find('@');
  return at != std::string::npos && at > 0 && text.find('@', at + 1) == std::string::npos &&
         text.find('.', at) != std::string::npos && text.back() != '.' && text.find(' ') == std::string::npos;
}

Input text_input(Org& org, const Field& field, const std::string& given) {
  std::string text(trimmed(given));
  if (text != given && org.is_on("keeps_white_space")) text = given;
  if (text.empty()) return Value();
  const std::size_t length =
      org.is_on("utf16_lengths") ? salesforce::utf16_length(text) : count_code_points(text);
  if (field.length > 0 && length > static_cast<std::size_t>(field.length))
    return refusal("STRING_TOO_LONG", field,
                   "data value too large: " + text + " (max length=" + std::to_string(field.length) + ")");
  if (field.kind == Kind::email && !is_email(text))
    return refusal("INVALID_EMAIL_ADDRESS", field, "invalid email address: " + text);
  const bool is_known =
      std::ranges::any_of(field.words, [&](const PicklistWord& word) { return word.value == text; });
  if (field.kind == Kind::picklist && field.is_restricted && !is_known)
    return refusal("INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", field,
                   "bad value for restricted picklist field: " + text);
  return Value(text);
}

Input number_input(const Field& field, double number) {
  const double limit = std::pow(10.0, field.precision - field.scale);
  if (std::abs(number) >= limit)
    return refusal("NUMBER_OUTSIDE_VALID_RANGE", field,
                   "value outside of valid range on numeric field: " + java_number(number));
  const double factor = std::pow(10.0, field.scale);
  return Value(field.scale == 0 ? std::round(number) : std::round(number * factor) / factor);
}

Input time_input(const Field& field, const Json& given) {
  std::string text = given.get<std::string>();
  // Also without a colon in the zone, as Salesforce itself writes it.
  if (const std::size_t size = text.size(); size > 5 && (text[size - 5] == '+' || text[size - 5] == '-'))
    text.insert(size - 2, ":");
  const auto time = from_rfc3339(text);
  if (!time) refuse_type(field, given);
  return Value(to_rfc3339({time->value / 1000 * 1000}));
}

bool is_deleted_or_merged(const StoredRecord& record) {
  return record.is_deleted;
}

/// The record of one of the field's objects, or why it cannot be referred to.
Input reference_input(Org& org, const Field& field, const std::string& given) {
  const std::string id = to_long_id(trimmed(given));
  if (id.empty()) return Value();
  const bool is_any = field.targets.front() == "*";
  for (const Object& object : org.schema().objects) {
    if (!is_any && std::ranges::count(field.targets, object.name) == 0) continue;
    const std::optional<StoredRecord> record = org.find(object, id);
    if (!record) continue;
    if (is_deleted_or_merged(*record)) return RowError{"ENTITY_IS_DELETED", "entity is deleted"};
    if (object.name == "Lead" && record->values.at("IsConverted") == Value(true))
      return RowError{"CANNOT_UPDATE_CONVERTED_LEAD", "cannot reference converted lead"};
    if (object.name == "User" && field.name == "OwnerId" && record->values.at("IsActive") == Value(false))
      return RowError{"INACTIVE_OWNER_OR_USER",
                      "operation performed with inactive user [" + id + "] as owner of record"};
    return Value(id);
  }
  if (!is_record_id(id)) return refusal("MALFORMED_ID", field, "id value of incorrect type: " + id);
  const Object* owner = org.schema().find_by_prefix(id);
  if (owner != nullptr && !is_any && std::ranges::count(field.targets, owner->name) == 0)
    return refusal("FIELD_INTEGRITY_EXCEPTION", field, "id value of incorrect type: " + id);
  return RowError{"INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id"};
}

}  // namespace

Input field_input(Org& org, const Field& field, const Json& given) {
  if (field.kind == Kind::checkbox) {
    if (!given.is_boolean()) refuse_type(field, given);  // also null: a checkbox always has a value
    return Value(given.get<bool>());
  }
  if (given.is_null()) return Value();
  if (field.kind == Kind::currency || field.kind == Kind::number) {
    std::optional<double> number;
    if (given.is_number()) number = given.get<double>();
    if (given.is_string()) number = parse_number<double>(given.get<std::string>());
    if (!number) refuse_type(field, given);
    return number_input(field, *number);
  }
  if (!given.is_string()) refuse_type(field, given);
  if (field.kind == Kind::date_time) return time_input(field, given);
  if (field.kind == Kind::reference) return reference_input(org, field, given.get<std::string>());
  if (field.kind == Kind::date && given.get<std::string>().size() != 10) refuse_type(field, given);
  return text_input(org, field, given.get<std::string>());
}

}  // namespace giftsync::tests::fake_org
