// daemon/sources: what the settings of a source amount to, ready for work: pointers parsed, words looked up,
// presets spelt out.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/settings/settings.h"
#include "daemon/sources/json_pointer.h"
#include "daemon/sources/raw_report.h"
#include "schema/words.h"

namespace giftsync::daemon {

/// One of a source's `fields`: what it is called there, and its JSON pointer.
struct FieldKey {
  ReportField field;
  std::string_view key;
  std::string SourceFieldSettings::*pointer;
};
inline constexpr std::array<FieldKey, kReportFields> kFieldKeys{{
    {ReportField::transaction_id, "transaction_id", &SourceFieldSettings::transaction_id},
    {ReportField::status, "status", &SourceFieldSettings::status},
    {ReportField::occurred_at, "occurred_at", &SourceFieldSettings::occurred_at},
    {ReportField::event_id, "event_id", &SourceFieldSettings::event_id},
    {ReportField::recipient_email, "recipient_email", &SourceFieldSettings::recipient_email},
    {ReportField::recipient_phone, "recipient_phone", &SourceFieldSettings::recipient_phone},
    {ReportField::first_name, "first_name", &SourceFieldSettings::first_name},
    {ReportField::last_name, "last_name", &SourceFieldSettings::last_name},
    {ReportField::sender_email, "sender_email", &SourceFieldSettings::sender_email},
    {ReportField::gift_id, "gift_id", &SourceFieldSettings::gift_id},
    {ReportField::message, "message", &SourceFieldSettings::message},
    {ReportField::sent_at, "sent_at", &SourceFieldSettings::sent_at},
    {ReportField::item_cost, "costs.item", &SourceFieldSettings::item_cost},
    {ReportField::shipping_cost, "costs.shipping", &SourceFieldSettings::shipping_cost},
    {ReportField::carbon_neutral_cost, "costs.carbon_neutral", &SourceFieldSettings::carbon_neutral_cost},
    {ReportField::transaction_fee, "costs.transaction_fee", &SourceFieldSettings::transaction_fee},
}};
static_assert(sizeof(SourceFieldSettings) == kReportFields * sizeof(std::string),
              "each of the settings' fields is named above once");

struct SourcePlan {
  SourceSettings settings;
  std::string origin;  ///< of the transactions it reports on: empty for ours, else its own name
  std::optional<JsonPointer> items;
  std::vector<std::pair<ReportField, JsonPointer>> pointers;
  /// Nullopt: the word is ignored.
  std::map<std::string, std::optional<schema::Status>, std::less<>> words;
  std::set<schema::Status> may_set;
  std::string installation;  ///< of our Message-IDs, for presets
  /// A mark of all that says what a report means; another one after an edit of it. Empty for presets, since
  /// no setting changes what mail providers mean.
  std::string reading;
};

/// `settings` have been checked. `installation` tells our mails from others'.
SourcePlan make_source_plan(const SourceSettings& settings, const std::string& installation);

}  // namespace giftsync::daemon
