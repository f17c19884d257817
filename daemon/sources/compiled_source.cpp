#include "daemon/sources/compiled_source.h"

#include "platform/digest.h"

namespace giftsync::daemon::sources {
namespace {

using StatusMap = std::map<std::string, std::optional<schema::Status>, std::less<>>;

void add_pointers(CompiledSource& source, const config::SourceFieldSettings& fields) {
  for (const FieldMapping& one : kFieldMappings) {
    const std::string& text = fields.*one.pointer;
    if (text.empty()) continue;
    if (auto pointer = platform::JsonPointer::parse(text))
      source.pointers.emplace_back(one.field, std::move(*pointer));
  }
}

/// The status_map of the provider presets. Only a final bounce counts: the preset readers give other bounces
/// the status "other".
StatusMap provider_status_map() {
  return {{"delivered", schema::Status::delivered},
          {"bounced", schema::Status::undelivered},
          {"opened", schema::Status::opened},
          {"other", std::nullopt}};
}

StatusMap status_map_of(const config::SourceSettings& settings) {
  if (settings.preset != config::SourcePreset::none) return provider_status_map();
  StatusMap status_map;
  for (const auto& [source_status, meaning] : settings.status_map)
    status_map[source_status] = schema::status_from_word(meaning);
  if (!status_map.empty()) return status_map;
  for (const schema::Status status : schema::kAllStatuses) status_map[std::string(to_word(status))] = status;
  return status_map;
}

std::set<schema::Status> allowed_statuses(const config::SourceSettings& settings) {
  std::set<schema::Status> allowed;
  for (const std::string& source_status : settings.may_set)
    allowed.insert(*schema::status_from_word(source_status));
  if (!allowed.empty()) return allowed;
  if (settings.preset != config::SourcePreset::none)
    return {schema::Status::delivered, schema::Status::undelivered, schema::Status::opened};
  return {schema::kAllStatuses.begin(), schema::kAllStatuses.end()};
}

/// 64 bits.
constexpr std::size_t kMappingFingerprintDigits = 16;

std::string mapping_fingerprint_of(const CompiledSource& source) {
  std::string all;
  const auto add = [&all](std::string_view text) {
    all += std::to_string(text.size()) + ":";
    all += text;
  };
  add(source.gift_source);
  add(source.settings.items);
  for (const FieldMapping& one : kFieldMappings) add(source.settings.fields.*one.pointer);
  for (const auto& [source_status, status] : source.status_map) {
    add(source_status);
    add(status ? to_word(*status) : "ignore");
  }
  add("");
  for (const schema::Status status : source.may_set) add(to_word(status));
  return platform::to_hex(platform::sha256(all)).substr(0, kMappingFingerprintDigits);
}

}  // namespace

CompiledSource compile_source(const config::SourceSettings& settings, const std::string& installation) {
  CompiledSource source;
  source.settings = settings;
  source.gift_source = settings.external ? settings.name : "";
  source.items = platform::JsonPointer::parse(settings.items);
  add_pointers(source, settings.fields);
  source.status_map = status_map_of(settings);
  source.may_set = allowed_statuses(settings);
  source.installation = installation;
  if (settings.preset == config::SourcePreset::none)
    source.mapping_fingerprint = mapping_fingerprint_of(source);
  return source;
}

}  // namespace giftsync::daemon::sources
