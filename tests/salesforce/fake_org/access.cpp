// What users may see and write: their permission sets.
#include <algorithm>
#include <array>
#include <string_view>

#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {
namespace {

/// What the profile Minimum Access leaves to permission sets.
constexpr std::array<std::string_view, 4> kOfPermissionSets{"Account", "Contact", "Lead", "Opportunity"};

bool is_of_permission_sets(const Object& object) {
  return std::ranges::count(kOfPermissionSets, object.name) > 0;
}

/// Whether a field of Salesforce's own has field-level security: not what every record must have, and not
/// what Salesforce itself writes.
bool has_security(const Object& object, const Field& field) {
  if (object.name == "Task") {
    constexpr std::array<std::string_view, 4> kFields{"Description", "Type", "WhatId", "WhoId"};
    return std::ranges::count(kFields, field.name) > 0;
  }
  constexpr std::array<std::string_view, 4> kNames{"FirstName", "Salutation", "OwnerId", "Name"};
  return is_of_permission_sets(object) && field.is_createable && !field.is_required &&
         std::ranges::count(kNames, field.name) == 0;
}

}  // namespace

std::string Org::user_id(const std::string& username) {
  const auto rows =
      database_.run("SELECT id FROM crm_user WHERE fold(username) = fold(?) AND isdeleted = 0", {username});
  return rows.empty() ? std::string() : rows[0][0].value_or("");
}

std::string Org::add_user(const std::string& username, const std::string& permission_set) {
  const Object& users = *schema_.find("User");
  const std::string id = new_id(users);
  insert(users, id,
         {{"Username", username},
          {"LastName", username},
          {"Name", username},
          {"IsActive", true},
          {"LocaleSidKey", "en_US"},
          {"LanguageLocaleKey", "en_US"}});
  database_.run("INSERT INTO crm_permission_set_assignment (assigneeid, permissionsetname) VALUES (?, ?)",
                {id, permission_set});
  return id;
}

/// Read once for each change of the assignments, which are looked at once for each change of any row.
const std::vector<std::string>& Org::sets_of(const std::string& user) {
  if (database_.all_changes() == changes_seen_) {
    if (const auto known = sets_of_user_.find(user); known != sets_of_user_.end()) return known->second;
  }
  changes_seen_ = database_.all_changes();
  const auto version = database_.run(
      "SELECT total(rowid) + count(*) + coalesce(sum(isactive), 0) FROM crm_permission_set_assignment");
  const auto number = static_cast<std::int64_t>(std::stod(version[0][0].value_or("0")));
  if (number != sets_version_) sets_of_user_.clear();
  sets_version_ = number;
  const auto [entry, is_new] = sets_of_user_.try_emplace(user);
  if (is_new) {
    for (const Cells& row : database_.run(
             "SELECT s.name FROM crm_permission_set_assignment a JOIN crm_permission_set s ON s.id = "
             "a.permissionsetid WHERE a.assigneeid = ? AND a.isdeleted = 0 AND coalesce(a.isactive, 1) AND "
             "coalesce(s.namespaceprefix, '') IN ('', ?)",
             {user, package_namespace()}))
      entry->second.push_back(row[0].value_or(""));
  }
  return entry->second;
}

bool Org::has_permission(const std::string& user, const std::string& name) {
  return std::ranges::any_of(schema_.permission_sets, [&](const PermissionSet& set) {
    return set.user_permissions.contains(name) && std::ranges::count(sets_of(user), set.name) > 0;
  });
}

bool Org::is_minimal(const std::string& user) {
  return setting("profile") == "minimum" && !has_permission(user, "ViewAllData");
}

ObjectAccess Org::access(const std::string& user, const Object& object) {
  if (is_listed("hidden_objects", object.name)) return {};
  const bool is_restricted = !object.is_custom && is_minimal(user);
  if (is_restricted && object.name == "Task") {
    const bool can_edit = has_permission(user, "EditTask");
    return {has_permission(user, "ActivitiesAccess"), can_edit, can_edit, can_edit};
  }
  if (is_restricted && object.name == "OpportunityContactRole")
    return access(user, *schema_.find("Opportunity"));
  if (!object.is_custom && !(is_restricted && is_of_permission_sets(object)))
    return {true, !object.is_read_only, !object.is_read_only, !object.is_read_only};
  ObjectAccess allowed;
  for (const PermissionSet& set : schema_.permission_sets) {
    if (std::ranges::count(sets_of(user), set.name) == 0) continue;
    const auto found = set.objects.find(object.name);
    if (found == set.objects.end()) continue;
    allowed.can_read |= found->second.can_read;
    allowed.can_create |= found->second.can_create;
    allowed.can_edit |= found->second.can_edit;
    allowed.can_delete |= found->second.can_delete;
  }
  return allowed;
}

FieldAccess Org::access(const std::string& user, const Object& object, const Field& field) {
  if (is_listed("hidden_fields", object.name + "." + field.name)) return {};
  if (!field.is_custom && !(has_security(object, field) && is_minimal(user))) return {true, true};
  FieldAccess allowed;
  for (const PermissionSet& set : schema_.permission_sets) {
    if (std::ranges::count(sets_of(user), set.name) == 0) continue;
    const auto found = set.fields.find(object.name + "." + field.name);
    if (found == set.fields.end()) continue;
    allowed.is_readable |= found->second.is_readable;
    allowed.is_editable |= found->second.is_editable;
  }
  return allowed;
}

}  // namespace giftsync::tests::fake_org
