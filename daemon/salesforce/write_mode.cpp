#include "daemon/salesforce/write_mode.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/salesforce/answers.h"
#include "daemon/salesforce/org_mode.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using schema::GiftField;

std::optional<OrgMode> mode_of(std::string_view word) {
  for (const OrgMode mode : {OrgMode::guarded, OrgMode::bare, OrgMode::none}) {
    if (to_word(mode) == word) return mode;
  }
  return std::nullopt;
}

bool flag_at(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value != nullptr && value->boolean().value_or(false);
}

std::optional<GiftField> field_named(std::string_view name) {
  for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
    if (schema::kGiftFields[i].name == name) return static_cast<GiftField>(i);
  }
  return std::nullopt;
}

/// The package was there: it is repaired, not replaced by another mode.
std::string guarded_obstacle(const ModeFinding& finding) {
  if (finding.was_guarded)
    return fmt::format(
        "no gift record is written, because giftsync's package in the org does not protect gift records any "
        "more: {}; activate the rule again, or deploy the package with \"giftsyncctl crm setup\" and assign "
        "its "
        "permission set",
        finding.reason);
  if (finding.mode == OrgMode::bare)
    return fmt::format(
        "no gift record is written, because the org does not have giftsync's package: {}; deploy it with "
        "\"giftsyncctl crm setup\", or set crm.salesforce.mode: bare if the package is of another owner",
        finding.reason);
  return fmt::format(
      "no gift record is written: {}; repair this, or deploy giftsync's package with \"giftsyncctl crm "
      "setup\"",
      finding.reason);
}

}  // namespace

std::string mode_names(const ApiNames& names) {
  return fmt::format("{} {} {} {} {}", names.object("gift_record"), names.field(GiftField::transaction_id),
                     names.field(OwnField::record_version), names.object("task"),
                     names.field(OwnField::task_transaction));
}

ModeFinding find_write_mode(const OrgFacts& facts, const ApiNames& names,
                            const std::optional<ModeFinding>& before, platform::UtcMillis now) {
  FoundMode found = find_mode(facts, names);
  ModeFinding finding{.mode = found.mode, .reason = std::move(found.reason)};
  finding.bare_obstacle = bare_obstacle(facts, names).value_or("");
  finding.task_obstacle = task_obstacle(facts, names).value_or("");
  finding.left_out = unusable_fields(names, facts);
  finding.names = mode_names(names);
  finding.found_at = now;
  const bool was_guarded = before && before->names == finding.names && before->was_guarded;
  finding.was_guarded = was_guarded || found.mode == OrgMode::guarded;
  if (const ObjectFacts* gift = facts.find("gift_record")) {
    const FieldFacts* key = gift->find(names.field(GiftField::transaction_id));
    finding.has_unique_key = key != nullptr && key->is_unique;
  }
  return finding;
}

std::string to_text(const ModeFinding& finding) {
  nlohmann::ordered_json json;
  json["mode"] = to_word(finding.mode);
  json["reason"] = finding.reason;
  json["bare_obstacle"] = finding.bare_obstacle;
  json["task_obstacle"] = finding.task_obstacle;
  json["has_unique_key"] = finding.has_unique_key;
  json["was_guarded"] = finding.was_guarded;
  json["left_out"] = nlohmann::ordered_json::array();
  for (const GiftField field : finding.left_out)
    json["left_out"].push_back(schema::descriptor_of(field).name);
  json["names"] = finding.names;
  json["found_at"] = finding.found_at.value;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<ModeFinding> read_mode_finding(std::string_view text) {
  const auto document = platform::parse_json(text, {});
  if (!document) return std::nullopt;
  const JsonValue& json = document->root();
  const std::optional<OrgMode> mode = mode_of(text_at(json, "mode"));
  const JsonValue* found_at = json.find("found_at");
  if (!mode || found_at == nullptr || !found_at->integer()) return std::nullopt;
  std::vector<GiftField> left_out;
  if (const JsonValue* fields = json.find("left_out")) {
    for (const JsonValue& one : fields->elements()) {
      if (auto field = field_named(one.text().value_or(""))) left_out.push_back(*field);
    }
  }
  return ModeFinding{.mode = *mode,
                     .reason = text_at(json, "reason"),
                     .bare_obstacle = text_at(json, "bare_obstacle"),
                     .task_obstacle = text_at(json, "task_obstacle"),
                     .has_unique_key = flag_at(json, "has_unique_key"),
                     .was_guarded = flag_at(json, "was_guarded"),
                     .left_out = std::move(left_out),
                     .names = text_at(json, "names"),
                     .found_at = {*found_at->integer()}};
}

WriteMode write_mode(OrgMode wanted, const ModeFinding& finding) {
  if (wanted == OrgMode::guarded) {
    if (finding.mode == OrgMode::guarded) return {.mode = OrgMode::guarded};
    return {.obstacle = guarded_obstacle(finding)};
  }
  if (!finding.bare_obstacle.empty())
    return {.obstacle = fmt::format("no gift record is written in crm.salesforce.mode: bare: {}; {}",
                                    finding.bare_obstacle, kBareRemedy)};
  return {.mode = OrgMode::bare,
          .creates_by_upsert = !finding.has_unique_key,
          .offers_tasks = finding.task_obstacle.empty()};
}

bool may_assume_guarded(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names) {
  if (wanted != OrgMode::guarded) return false;
  return !finding || finding->names != mode_names(names) || finding->mode == OrgMode::guarded;
}

bool is_due(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names,
            platform::UtcMillis now) {
  if (!finding || finding->names != mode_names(names)) return true;
  const bool has_obstacle = write_mode(wanted, *finding).mode == OrgMode::none;
  const std::int64_t age = now.value - finding->found_at.value;
  return age < 0 || age >= (has_obstacle ? kModeObstacleMillis : kModeFindingMillis);
}

}  // namespace giftsync::daemon::salesforce
