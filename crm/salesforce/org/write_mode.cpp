#include "crm/salesforce/org/write_mode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/org/package.h"
#include "platform/dependency_error.h"
#include "platform/http_client.h"
#include "platform/json.h"
#include "platform/strict_json.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {

std::optional<OrgMode> mode_of(std::string_view word) {
  for (const OrgMode mode : {OrgMode::guarded, OrgMode::bare, OrgMode::none}) {
    if (to_word(mode) == word) return mode;
  }
  return std::nullopt;
}

std::optional<GiftField> field_named(std::string_view name) {
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    if (kGiftFields[i].name == name) return static_cast<GiftField>(i);
  }
  return std::nullopt;
}

/// The package was there: it is repaired, not replaced by another mode.
std::string guarded_problem(const ModeFinding& finding) {
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
                            const std::optional<ModeFinding>& before, UtcMillis now) {
  FoundMode found = find_mode(facts, names);
  ModeFinding finding{.mode = found.mode, .reason = std::move(found.reason)};
  finding.bare_problem = bare_problem(facts, names).value_or("");
  finding.task_problem = task_problem(facts, names).value_or("");
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
  json["bare_obstacle"] = finding.bare_problem;
  json["task_obstacle"] = finding.task_problem;
  json["has_unique_key"] = finding.has_unique_key;
  json["was_guarded"] = finding.was_guarded;
  json["left_out"] = nlohmann::ordered_json::array();
  for (const GiftField field : finding.left_out) json["left_out"].push_back(descriptor_of(field).name);
  json["names"] = finding.names;
  json["found_at"] = finding.found_at.value;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<ModeFinding> read_mode_finding(std::string_view text) {
  const auto document = parse_json(text, {});
  if (!document) return std::nullopt;
  const JsonValue& json = document->root();
  const std::optional<OrgMode> mode = mode_of(text_at(json, "mode"));
  const JsonValue* found_at = json.find("found_at");
  if (!mode || found_at == nullptr || !found_at->integer()) return std::nullopt;
  std::vector<GiftField> left_out;
  for (const JsonValue& name : list_at(json, "left_out")) {
    if (const auto field = field_named(name.text().value_or(""))) left_out.push_back(*field);
  }
  return ModeFinding{.mode = *mode,
                     .reason = text_at(json, "reason"),
                     .bare_problem = text_at(json, "bare_obstacle"),
                     .task_problem = text_at(json, "task_obstacle"),
                     .has_unique_key = flag_at(json, "has_unique_key"),
                     .was_guarded = flag_at(json, "was_guarded"),
                     .left_out = std::move(left_out),
                     .names = text_at(json, "names"),
                     .found_at = {*found_at->integer()}};
}

WriteMode write_mode(OrgMode wanted, const ModeFinding& finding) {
  if (wanted == OrgMode::guarded) {
    if (finding.mode == OrgMode::guarded) return {.mode = OrgMode::guarded};
    return {.problem = guarded_problem(finding)};
  }
  if (!finding.bare_problem.empty())
    return {.problem = fmt::format("no gift record is written in crm.salesforce.mode: bare: {}; {}",
                                   finding.bare_problem, kBareRemedy)};
  return {.mode = OrgMode::bare,
          .creates_by_upsert = !finding.has_unique_key,
          .offers_tasks = finding.task_problem.empty()};
}

bool may_assume_guarded(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names) {
  if (wanted != OrgMode::guarded) return false;
  return !finding || finding->names != mode_names(names) || finding->mode == OrgMode::guarded;
}

bool is_due(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names, UtcMillis now) {
  if (!finding || finding->names != mode_names(names)) return true;
  const bool has_problem = write_mode(wanted, *finding).mode == OrgMode::none;
  const std::int64_t age = now.value - finding->found_at.value;
  return age < 0 || age >= (has_problem ? kModeProblemMillis : kModeFindingMillis);
}

namespace {

/// A statement that was refused is not older.
constexpr std::int64_t kSecondLookMillis = kMinuteMillis;

std::optional<ModeFinding> stored_finding(const FactStorage& facts) {
  const std::optional<std::string> text = facts.load(kModeFact);
  return text ? read_mode_finding(*text) : std::nullopt;
}

/// The gift record and the task, as the user sees them.
void describe_objects(OrgCalls& calls, const ApiNames& names, OrgFacts& facts) {
  struct Described {
    std::string_view object;
    const char* reference;
  };
  constexpr Described kObjects[] = {{"gift_record", "gift"}, {"task", "task"}};
  std::vector<PartRequest> parts;
  for (const Described& described : kObjects) {
    const std::string name = names.object(described.object);
    if (is_identifier(name)) parts.push_back(describe_part(calls.api_version(), name, described.reference));
  }
  const CompositeAnswer answer = calls.read(parts, parts.size(), CallPurpose::watch);
  for (const Described& described : kObjects) {
    if (!is_identifier(names.object(described.object))) continue;
    const CompositePart& part = require_part(answer.parts, described.reference);
    if (part.status == kNotFound) continue;
    if (!is_success(part.status))
      calls.stop(part, CallPurpose::watch);  // a passing fault says nothing of the object
    facts.objects[std::string(described.object)] = object_facts(*part.body);
  }
}

/// Nullopt where the user may not see the setup.
std::optional<std::vector<RuleFacts>> find_rules(OrgCalls& calls, const ApiNames& names) {
  try {
    const AnswerBody body =
        calls.get("/tooling/query", "q=" + percent_encoded(rules_statement(names)), CallPurpose::watch);
    return rule_facts(*body.json());
  } catch (const giftsync::DependencyError& fault) {
    if (fault.transient()) throw;
    return std::nullopt;
  }
}

}  // namespace

WriteMode ModeWatch::require() {
  const ModeFinding finding = current();
  WriteMode mode = write_mode(wanted_, finding);
  if (mode.mode != OrgMode::none) return mode;
  const UtcMillis next = finding.found_at + kModeProblemMillis;
  throw giftsync::DependencyPause(
      next,
      fmt::format("{}; the org is looked at again at {}, or at once by \"giftsyncctl crm retry --all\"",
                  mode.problem, to_rfc3339(next)),
      true);
}

bool ModeWatch::offers_tasks() {
  return wanted_ == OrgMode::guarded || write_mode(wanted_, current()).offers_tasks;
}

ModeFinding ModeWatch::current() {
  const std::lock_guard lock(mutex_);
  const UtcMillis now = clock_();
  if (!first_asked_at_) first_asked_at_ = now;
  const std::optional<ModeFinding> stored = stored_finding(facts_);
  hide(stored);
  if (!is_due(wanted_, stored, names_, now)) return *stored;
  if (now.value - first_asked_at_->value < kFirstLookMillis && may_assume_guarded(wanted_, stored, names_))
    return {.mode = OrgMode::guarded};
  return look(stored);
}

ModeFinding ModeWatch::look(const std::optional<ModeFinding>& before) {
  OrgFacts facts;
  describe_objects(calls_, names_, facts);
  const ObjectFacts* gift = facts.find("gift_record");
  if (gift != nullptr && gift->find(names_.field(OwnField::record_version)) != nullptr)
    facts.rules = find_rules(calls_, names_);
  ModeFinding finding = find_write_mode(facts, names_, before, clock_());
  facts_.save(kModeFact, to_text(finding));
  hide(finding);
  return finding;
}

void ModeWatch::hide(const std::optional<ModeFinding>& finding) {
  const bool is_of_names = finding && finding->names == mode_names(names_);
  shown_names_.hide(is_of_names ? finding->left_out : std::vector<GiftField>());
}

void ModeWatch::hide_unusable_fields() {
  const std::lock_guard lock(mutex_);
  hide(stored_finding(facts_));
}

bool ModeWatch::hides_more_fields() {
  const std::lock_guard lock(mutex_);
  const UtcMillis now = clock_();
  const std::vector<GiftField> before = shown_names_.gift_fields();
  hide(stored_finding(facts_));  // another process may have looked meanwhile
  if (shown_names_.gift_fields() != before) return true;
  // Another thread has looked since the refused statement was made.
  if (found_more_at_ && !has_elapsed(*found_more_at_, kSecondLookMillis, now)) return true;
  if (looked_in_vain_at_ && !has_elapsed(*looked_in_vain_at_, kModeFindingMillis, now)) return false;
  look(stored_finding(facts_));
  const bool has_changed = shown_names_.gift_fields() != before;
  (has_changed ? found_more_at_ : looked_in_vain_at_) = now;
  return has_changed;
}

void store_mode(const FactStorage& facts, const OrgFacts& org, const ApiNames& names, UtcMillis now) {
  facts.save(kModeFact, to_text(find_write_mode(org, names, stored_finding(facts), now)));
}

namespace {

constexpr int kIdDigits = 16;
constexpr std::string_view kVersionRule = "Only_Newer";
constexpr std::string_view kGiftRule = "Same_Gift";

FoundMode none(std::string reason) {
  return {OrgMode::none, std::move(reason)};
}

std::string quoted_field(const ObjectFacts& object, std::string_view field) {
  return fmt::format("{}.{}", object.name, field);
}

/// The beginning by which the adapter knows the refusals of a rule; empty for rules that refuse people.
std::string_view mark_of(std::string_view rule) {
  for (const PackageRule& package_rule : package_rules()) {
    if (package_rule.name != rule) continue;
    if (package_rule.message.starts_with(kOlderVersionMark)) return kOlderVersionMark;
    if (package_rule.message.starts_with(kOtherGiftMark)) return kOtherGiftMark;
    if (package_rule.message.starts_with(kChangedSinceReadMark)) return kChangedSinceReadMark;
  }
  return {};
}

/// The version field of giftsync's package is there.
FoundMode find_guarded_mode(const OrgFacts& facts, const ApiNames& names, const ObjectFacts& gift,
                            const FieldFacts& key) {
  const FieldFacts& version = *gift.find(names.field(OwnField::record_version));
  if (!version.is_writable())
    return none(fmt::format("the user may not write {}", quoted_field(gift, version.name)));
  if (!holds_ids(version))
    return none(fmt::format("{} does not have {} digits", quoted_field(gift, version.name), kIdDigits));
  if (!key.is_unique)
    return none(
        fmt::format("{} is not unique, so a gift could get two records", quoted_field(gift, key.name)));
  for (const std::string_view rule : {kVersionRule, kGiftRule}) {
    if (auto fault = rule_fault(facts, names, "gift_record", rule)) return none(std::move(*fault));
  }
  return {OrgMode::guarded, "giftsync's package is there, and its rule Only_Newer is active"};
}

}  // namespace

bool holds_ids(const FieldFacts& field) {
  if (field.type == "int") return false;
  return field.type == "double" && field.scale == 0 && field.precision >= kIdDigits;
}

std::optional<std::string> rule_fault(const OrgFacts& facts, const ApiNames& names, std::string_view object,
                                      std::string_view rule) {
  if (!facts.rules)
    return fmt::format("whether the validation rule {} is active is unknown: the user may not see the setup",
                       rule);
  const std::string name = names.object(object);
  const auto found = std::ranges::find_if(*facts.rules, [&](const RuleFacts& rule_facts) {
    return ascii_lower(rule_facts.object) == ascii_lower(name) && rule_facts.name == rule;
  });
  if (found == facts.rules->end()) return fmt::format("the validation rule {} of {} is missing", rule, name);
  if (!found->is_active) return fmt::format("the validation rule {} of {} is not active", rule, name);
  if (const std::string_view mark = mark_of(rule); !found->message.starts_with(mark))
    return fmt::format("the message of the validation rule {} of {} does not begin with {}", rule, name,
                       mark);
  return std::nullopt;
}

std::optional<std::string> bare_problem(const OrgFacts& facts, const ApiNames& names) {
  const ObjectFacts* gift = facts.find("gift_record");
  if (gift == nullptr) return fmt::format("the user sees no object {}", names.object("gift_record"));
  if (!gift->is_createable || !gift->is_updateable)
    return fmt::format("the user may not create and edit records of {}", gift->name);
  const FieldFacts* key = gift->find(names.field(GiftField::transaction_id));
  if (key == nullptr)
    return fmt::format("the user sees no field {}",
                       quoted_field(*gift, names.field(GiftField::transaction_id)));
  if (!key->is_createable) return fmt::format("the user may not write {}", quoted_field(*gift, key->name));
  if (!key->is_external_id) return fmt::format("{} is no external id", quoted_field(*gift, key->name));
  if (!holds_ids(*key))
    return fmt::format("{} is no number of {} digits or more without decimal places",
                       quoted_field(*gift, key->name), kIdDigits);
  return std::nullopt;
}

FoundMode find_mode(const OrgFacts& facts, const ApiNames& names) {
  if (auto problem = bare_problem(facts, names)) return none(std::move(*problem));
  const ObjectFacts& gift = *facts.find("gift_record");
  const std::string& version = names.field(OwnField::record_version);
  if (gift.find(version) != nullptr)
    return find_guarded_mode(facts, names, gift, *gift.find(names.field(GiftField::transaction_id)));
  if (version.empty()) return {OrgMode::bare, "no field for the version of a gift record is named"};
  return {OrgMode::bare, fmt::format("the user sees no field {}", quoted_field(gift, version))};
}

std::optional<std::string> task_problem(const OrgFacts& facts, const ApiNames& names) {
  const ObjectFacts* task = facts.find("task");
  if (task == nullptr)
    return "the user does not see tasks: it needs the permission Access Activities beside Edit Tasks";
  if (!task->is_createable || !task->is_updateable)
    return "the user may not create and edit tasks: it needs the permission Edit Tasks";
  const std::string& name = names.field(OwnField::task_transaction);
  if (name.empty()) return "crm.columns leaves out the field that makes one task per gift";
  const FieldFacts* key = task->find(name);
  if (key == nullptr) return fmt::format("the user sees no field {} of Activity", name);
  if (!key->is_unique || !key->is_external_id || !key->is_createable || !holds_ids(*key))
    return fmt::format(
        "the field {} of Activity is no unique external id with {} digits that the user may write", key->name,
        kIdDigits);
  const FieldFacts* what = task->find(names.field("task", "WhatId"));
  const ObjectFacts* gift = facts.find("gift_record");
  if (what != nullptr && gift != nullptr && std::ranges::count(what->targets, gift->name) == 0)
    return fmt::format("{} does not allow activities", gift->name);
  return std::nullopt;
}

std::optional<std::string> request_problem(const OrgFacts& facts, const ApiNames& names) {
  if (const FoundMode found = find_mode(facts, names); found.mode != OrgMode::guarded)
    return "they need giftsync's package, but " + found.reason;
  const ObjectFacts* request = facts.find("request_record");
  if (request == nullptr) return fmt::format("the user sees no object {}", names.object("request_record"));
  if (!request->is_createable || !request->is_updateable)
    return fmt::format("the user may not create and edit records of {}", request->name);
  for (const OwnField own :
       {OwnField::claimed, OwnField::guard_modified, OwnField::guard_mark, OwnField::creation_key}) {
    const FieldFacts* field = request->find(names.field(own));
    if (field == nullptr || !field->is_writable())
      return fmt::format("the user may not write {}", quoted_field(*request, names.field(own)));
  }
  const FieldFacts& key = *request->find(names.field(OwnField::creation_key));
  if (!key.is_unique || !key.is_external_id)
    return fmt::format("{} is no unique external id", quoted_field(*request, key.name));
  for (const std::string_view rule : {"As_Read", "Being_Sent"}) {
    if (auto fault = rule_fault(facts, names, "request_record", rule)) return fault;
  }
  return std::nullopt;
}

}  // namespace giftsync::salesforce
