// daemon/sources: a source's settings, compiled: pointers parsed, statuses looked up, presets expanded.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/sources/inbound_event.h"
#include "platform/json_pointer.h"
#include "schema/enums.h"

namespace giftsync::daemon::sources {

/// One of a source's `fields`: its key in the settings and its JSON pointer.
struct FieldMapping {
  EventField field;
  std::string_view key;
  std::string config::SourceFieldSettings::*pointer;
};
inline constexpr std::array<FieldMapping, kEventFieldCount> kFieldMappings{{
    {EventField::transaction_id, "transaction_id", &config::SourceFieldSettings::transaction_id},
    {EventField::status, "status", &config::SourceFieldSettings::status},
    {EventField::occurred_at, "occurred_at", &config::SourceFieldSettings::occurred_at},
    {EventField::event_id, "event_id", &config::SourceFieldSettings::event_id},
    {EventField::recipient_email, "recipient_email", &config::SourceFieldSettings::recipient_email},
    {EventField::recipient_phone, "recipient_phone", &config::SourceFieldSettings::recipient_phone},
    {EventField::first_name, "first_name", &config::SourceFieldSettings::first_name},
    {EventField::last_name, "last_name", &config::SourceFieldSettings::last_name},
    {EventField::sender_email, "sender_email", &config::SourceFieldSettings::sender_email},
    {EventField::gift_id, "gift_id", &config::SourceFieldSettings::gift_id},
    {EventField::message, "message", &config::SourceFieldSettings::message},
    {EventField::sent_at, "sent_at", &config::SourceFieldSettings::sent_at},
    {EventField::item_cost, "costs.item", &config::SourceFieldSettings::item_cost},
    {EventField::shipping_cost, "costs.shipping", &config::SourceFieldSettings::shipping_cost},
    {EventField::carbon_neutral_cost, "costs.carbon_neutral",
     &config::SourceFieldSettings::carbon_neutral_cost},
    {EventField::transaction_fee, "costs.transaction_fee", &config::SourceFieldSettings::transaction_fee},
}};
static_assert(sizeof(config::SourceFieldSettings) == kEventFieldCount * sizeof(std::string),
              "each of the settings' fields is named above once");

struct CompiledSource {
  config::SourceSettings settings;
  std::string gift_source;  ///< gift_source of its transactions: empty for giftsync's own, otherwise the
                            ///< source's name
  std::optional<platform::JsonPointer> items;
  std::vector<std::pair<EventField, platform::JsonPointer>> pointers;
  /// Nullopt: the status is ignored.
  std::map<std::string, std::optional<schema::Status>, std::less<>> status_map;
  std::set<schema::Status> may_set;
  std::string installation;  ///< installation part of giftsync's Message-IDs, for presets
  /// Fingerprint of all settings that define an event's meaning; it changes with an edit of them (SRC-26).
  /// Empty for presets, since no setting changes the meaning of their events.
  std::string mapping_fingerprint;
};

/// `settings` are validated. `installation` identifies giftsync's own mails.
CompiledSource compile_source(const config::SourceSettings& settings, const std::string& installation);

}  // namespace giftsync::daemon::sources
