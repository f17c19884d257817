#include "daemon/sources/raw_report.h"

#include <nlohmann/json.hpp>

#include "daemon/http/strict_json.h"
#include "schema/gift_record.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostCodePoints = 500;

/// One more than the record's field holds: who drafts the record cuts there, and tells of it, if there was
/// more.
std::size_t most_message_code_points() {
  return static_cast<std::size_t>(schema::field_of(schema::GiftField::message).length) + 1;
}

constexpr std::array<std::string_view, kReportFields> kNames{
    "transaction_id",  "status",     "occurred_at", "event_id",      "recipient_email",
    "recipient_phone", "first_name", "last_name",   "sender_email",  "gift_id",
    "message",         "sent_at",    "item_cost",   "shipping_cost", "carbon_neutral_cost",
    "transaction_fee"};
constexpr std::string_view kItem = "item";
constexpr std::string_view kItemTooLong = "item_too_long";
constexpr std::string_view kUnread = "unread";

using Json = nlohmann::ordered_json;

Json fields_of(const RawReport& report) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kReportFields; ++i) {
    const std::string& text = report[static_cast<ReportField>(i)];
    if (!text.empty()) json[std::string(kNames[i])] = text;
  }
  return json;
}

std::string as_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void RawReport::set(ReportField field, std::string_view text) {
  const std::size_t most = field == ReportField::message ? most_message_code_points() : kMostCodePoints;
  texts_[static_cast<std::size_t>(field)] = schema::truncated(schema::trimmed(text), most);
}

std::string fields_as_text(const RawReport& report) {
  return as_text(fields_of(report));
}

std::string to_text(const RawReport& report) {
  Json json = fields_of(report);
  if (!report.item.empty()) json[std::string(kItem)] = report.item;
  if (report.is_item_too_long) json[std::string(kItemTooLong)] = true;
  if (!report.unread.empty()) json[std::string(kUnread)] = report.unread;
  return as_text(json);
}

std::optional<RawReport> raw_report_from_text(std::string_view text) {
  const auto read = read_strict_json(text);
  const auto* document = std::get_if<JsonDocument>(&read);
  if (document == nullptr || !document->root().is_object()) return std::nullopt;
  RawReport report;
  for (std::size_t i = 0; i < kReportFields; ++i) {
    const JsonValue* value = document->root().find(kNames[i]);
    if (value != nullptr && value->text()) report.set(static_cast<ReportField>(i), *value->text());
  }
  const JsonValue* item = document->root().find(kItem);
  if (item != nullptr && item->text()) report.item = *item->text();
  const JsonValue* too_long = document->root().find(kItemTooLong);
  report.is_item_too_long = too_long != nullptr && too_long->boolean().value_or(false);
  const JsonValue* unread = document->root().find(kUnread);
  if (unread != nullptr && unread->text()) report.unread = *unread->text();
  return report;
}

}  // namespace giftsync::daemon
