#include "daemon/salesforce/org_mode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "daemon/salesforce/package_rules.h"
#include "platform/text.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::GiftField;

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
  for (const PackageRule& one : package_rules()) {
    if (one.name != rule) continue;
    if (one.message.starts_with(kOlderVersionMark)) return kOlderVersionMark;
    if (one.message.starts_with(kOtherGiftMark)) return kOtherGiftMark;
    if (one.message.starts_with(kChangedSinceReadMark)) return kChangedSinceReadMark;
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
  const auto found = std::ranges::find_if(*facts.rules, [&](const RuleFacts& one) {
    return platform::ascii_lower(one.object) == platform::ascii_lower(name) && one.name == rule;
  });
  if (found == facts.rules->end()) return fmt::format("the validation rule {} of {} is missing", rule, name);
  if (!found->is_active) return fmt::format("the validation rule {} of {} is not active", rule, name);
  if (const std::string_view mark = mark_of(rule); !found->message.starts_with(mark))
    return fmt::format("the message of the validation rule {} of {} does not begin with {}", rule, name,
                       mark);
  return std::nullopt;
}

std::optional<std::string> bare_obstacle(const OrgFacts& facts, const ApiNames& names) {
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
  if (auto obstacle = bare_obstacle(facts, names)) return none(std::move(*obstacle));
  const ObjectFacts& gift = *facts.find("gift_record");
  const std::string& version = names.field(OwnField::record_version);
  if (gift.find(version) != nullptr)
    return find_guarded_mode(facts, names, gift, *gift.find(names.field(GiftField::transaction_id)));
  if (version.empty()) return {OrgMode::bare, "no field for the version of a gift record is named"};
  return {OrgMode::bare, fmt::format("the user sees no field {}", quoted_field(gift, version))};
}

std::optional<std::string> task_obstacle(const OrgFacts& facts, const ApiNames& names) {
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

std::optional<std::string> request_obstacle(const OrgFacts& facts, const ApiNames& names) {
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

}  // namespace giftsync::daemon::salesforce
