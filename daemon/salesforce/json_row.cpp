#include "daemon/salesforce/json_row.h"

#include <nlohmann/json.hpp>
#include <variant>

#include "platform/time.h"
#include "schema/money.h"

namespace giftsync::daemon::salesforce {
namespace {

std::string json_of(const schema::FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty() ? "null" : json_text(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<schema::Money>(&value)) return schema::to_decimal(*money);
  if (const auto* time = std::get_if<platform::UtcMillis>(&value))
    return json_text(platform::to_rfc3339(*time));
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return "null";
}

}  // namespace

JsonRow::JsonRow(std::string_view object) : text_("{\"attributes\":{\"type\":" + json_text(object) + "}") {}

void JsonRow::add_raw(std::string_view name, std::string_view value) {
  if (name.empty()) return;
  text_ += ',';
  text_ += json_text(name);
  text_ += ':';
  text_ += value;
}

void JsonRow::add_text(std::string_view name, std::string_view value) {
  add_raw(name, json_text(value));
}

void JsonRow::add_number(std::string_view name, std::int64_t value) {
  add_raw(name, std::to_string(value));
}

void JsonRow::add_bool(std::string_view name, bool value) {
  add_raw(name, value ? "true" : "false");
}

void JsonRow::add_null(std::string_view name) {
  add_raw(name, "null");
}

void JsonRow::add(std::string_view name, const schema::FieldValue& value) {
  add_raw(name, json_of(value));
}

void JsonRow::add_if_present(std::string_view name, const schema::FieldValue& value) {
  if (!is_absent(value)) add(name, value);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_absent(const schema::FieldValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return std::holds_alternative<std::monostate>(value) || (text && text->empty());
}

}  // namespace giftsync::daemon::salesforce
