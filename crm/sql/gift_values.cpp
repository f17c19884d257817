#include "crm/sql/gift_values.h"

#include <cstdlib>

namespace giftsync::crm::sql_crm {
namespace {

FieldValue number_of(const std::string& text) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  const bool is_number = end != text.c_str() && *end == '\0';
  return is_number ? FieldValue(std::int64_t{number}) : FieldValue();
}

}  // namespace

std::optional<std::string> text_of(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<Money>(&value)) return to_decimal(*money);
  if (const auto* time = std::get_if<UtcMillis>(&value)) return to_rfc3339(*time);
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return std::nullopt;
}

FieldValue value_of(const FieldDescriptor& field, const std::string& text) {
  FieldValue value;
  switch (field.type) {
    case FieldType::currency:
      if (const auto money = from_decimal(text)) value = *money;
      break;
    case FieldType::number:
      value = number_of(text);
      break;
    case FieldType::date_time:
      if (const auto time = from_rfc3339(text)) value = *time;
      break;
    case FieldType::checkbox:
      value = text == "true";
      break;
    default:
      value = text;
  }
  return value;
}

GiftRecord gift_record_of(const GiftTexts& texts) {
  GiftRecord record;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    if (!texts[i]) continue;
    const auto field = static_cast<GiftField>(i);
    FieldValue value = value_of(descriptor_of(field), *texts[i]);
    if (std::holds_alternative<std::monostate>(value))
      record.unreadable.push_back({field, *texts[i]});
    else
      record.set(field, std::move(value));
  }
  return record;
}

}  // namespace giftsync::crm::sql_crm
