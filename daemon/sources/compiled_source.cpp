#include "daemon/sources/compiled_source.h"

#include <array>

#include "platform/digest.h"

namespace giftsync::sources {
namespace {

using StatusMap = std::map<std::string, std::optional<Status>, std::less<>>;

using Fields = config::SourceFieldSettings;
/// In the order of sync::EventField.
constexpr std::array<std::string Fields::*, sync::kEventFields.size()> kPointers{
    &Fields::transaction_id, &Fields::status,          &Fields::occurred_at,
    &Fields::event_id,       &Fields::recipient_email, &Fields::recipient_phone,
    &Fields::first_name,     &Fields::last_name,       &Fields::sender_email,
    &Fields::gift_id,        &Fields::message,         &Fields::sent_at,
    &Fields::item_cost,      &Fields::shipping_cost,   &Fields::carbon_neutral_cost,
    &Fields::transaction_fee};
static_assert(sizeof(Fields) == kPointers.size() * sizeof(std::string),
              "each of the settings' fields is named above once");

/// The status_map of the provider presets. Only a final bounce counts: the preset readers give other bounces
/// the status "other".
StatusMap provider_status_map() {
  return {{"delivered", Status::delivered},
          {"bounced", Status::undelivered},
          {"opened", Status::opened},
          {std::string(sync::kComplaintStatus), std::nullopt},
          {"other", std::nullopt}};
}

StatusMap status_map_of(const config::SourceSettings& settings) {
  if (settings.preset != config::SourcePreset::none) return provider_status_map();
  StatusMap status_map;
  for (const auto& [source_status, meaning] : settings.status_map)
    status_map[source_status] = status_from_word(meaning);
  if (!status_map.empty()) return status_map;
  for (const Status status : kAllStatuses) status_map[std::string(to_word(status))] = status;
  return status_map;
}

std::set<Status> allowed_statuses(const config::SourceSettings& settings) {
  std::set<Status> allowed;
  for (const std::string& source_status : settings.may_set) allowed.insert(*status_from_word(source_status));
  if (!allowed.empty()) return allowed;
  if (settings.preset != config::SourcePreset::none)
    return {Status::delivered, Status::undelivered, Status::opened};
  return {kAllStatuses.begin(), kAllStatuses.end()};
}

/// 64 bits.
constexpr std::size_t kMappingFingerprintDigits = 16;

std::string mapping_fingerprint_of(const config::SourceSettings& settings, const sync::EventRules& rules) {
  std::vector<std::string> all{rules.gift_source, settings.items};
  if (rules.allots_ids) all.emplace_back("allot");
  for (const sync::EventField field : sync::kEventFields) all.push_back(pointer_of(settings.fields, field));
  for (const auto& [source_status, status] : rules.status_map) {
    all.push_back(source_status);
    all.emplace_back(status ? to_word(*status) : "ignore");
  }
  all.emplace_back();
  for (const Status status : rules.may_set) all.emplace_back(to_word(status));
  return sha256_hex(joined_with_lengths(all)).substr(0, kMappingFingerprintDigits);
}

}  // namespace

CompiledSource compile_source(const config::SourceSettings& settings, const std::string& installation,
                              const config::DoNotSendSettings& listing) {
  CompiledSource source;
  source.settings = settings;
  source.rules.source = settings.name;
  source.rules.gift_source = settings.external ? settings.name : "";
  source.rules.allots_ids = settings.external && settings.allots_ids;
  source.rules.status_map = status_map_of(settings);
  source.rules.may_set = allowed_statuses(settings);
  if (settings.preset == config::SourcePreset::none)
    source.rules.mapping_fingerprint = mapping_fingerprint_of(settings, source.rules);
  source.rules.lists_complaints = listing.complaints;
  if (listing.bounces) source.rules.bounce_days = listing.bounce_days;
  source.items = JsonPointer::parse(settings.items);
  for (const sync::EventField field : sync::kEventFields) {
    const std::string& text = pointer_of(settings.fields, field);
    if (text.empty()) continue;
    if (auto pointer = JsonPointer::parse(text)) source.pointers.emplace_back(field, std::move(*pointer));
  }
  source.installation = installation;
  return source;
}

const std::string& pointer_of(const Fields& fields, sync::EventField field) {
  return fields.*kPointers[static_cast<std::size_t>(field)];
}

std::string joined_with_lengths(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += std::to_string(text.size()) + ":" + text;
  return all;
}

}  // namespace giftsync::sources
