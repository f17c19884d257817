// daemon/salesforce: the users of an org and their permission sets.
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/salesforce/directory.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/person_matching.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/soql_text.h"
#include "daemon/salesforce/statements.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using schema::crm::CrmUser;
using schema::crm::PermissionSetAssignment;

using Ids = std::span<const std::string>;
using AssignmentsByUser = std::map<std::string, std::vector<PermissionSetAssignment>>;

/// One that is not assigned by a group has no group Id.
struct Assignment {
  std::string user;
  std::string group;
  PermissionSetAssignment assignment;
};

/// Names the user of a row as the caller asked for it.
using UserKey = std::function<std::string(const JsonValue& row)>;

/// The set's name. One of another package, or of the org's own where giftsync's package has a namespace, has
/// its prefix (Salesforce's for the org itself is "c"), so that it does not count as the set with the bare
/// name.
std::string set_name_of(const JsonValue& row, const ApiNames& names) {
  std::string name = text_of_value(value_at(row, "PermissionSet.Name"));
  const std::string prefix = text_of_value(value_at(row, "PermissionSet.NamespacePrefix"));
  if (platform::ascii_lower(prefix) == platform::ascii_lower(names.name_space())) return name;
  return (prefix.empty() ? "c" : prefix) + "__" + name;
}

Assignment assignment_of(const JsonValue& row, const ApiNames& names, const UserKey& user_key) {
  Assignment read;
  read.user = user_key(row);
  read.group = short_id(text_at(row, "PermissionSetGroupId"));
  read.assignment.permission_set = set_name_of(row, names);
  const JsonValue* active = row.find("IsActive");
  read.assignment.active = !active || active->boolean().value_or(true);
  const std::string expires = text_at(row, "ExpirationDate");
  // A time that cannot be read has passed.
  if (!expires.empty()) read.assignment.expires_at = read_time(expires).value_or(platform::UtcMillis{0});
  return read;
}

/// By user_key(). Sets inside of a group count as assigned by it.
AssignmentsByUser read_assignments(OrgCalls& calls, const ApiNames& names, const Question& question,
                                   Spending spending, const UserKey& user_key) {
  AssignmentsByUser found;
  std::map<std::string, std::vector<Assignment>> by_group;
  std::vector<std::string> groups;
  each_row(calls, question, spending, [&](const JsonValue& row) {
    Assignment read = assignment_of(row, names, user_key);
    if (!read.group.empty()) {
      groups.push_back(text_at(row, "PermissionSetGroupId"));
      by_group[read.group].push_back(std::move(read));
    } else {
      found[read.user].push_back(std::move(read.assignment));
    }
  });
  groups = distinct(std::move(groups));
  const auto parts = [](Ids some) { return permission_set_group_parts(some); };
  each_row(calls, question_of(Ids(groups), parts), spending, [&](const JsonValue& row) {
    for (const Assignment& one : by_group[short_id(text_at(row, "PermissionSetGroupId"))]) {
      PermissionSetAssignment assignment = one.assignment;
      assignment.permission_set = set_name_of(row, names);
      found[one.user].push_back(std::move(assignment));
    }
  });
  return found;
}

}  // namespace

std::vector<std::vector<CrmUser>> SalesforceDirectory::find_users_by_email(Ids email_keys) {
  const std::vector<std::string> keys = distinct({email_keys.begin(), email_keys.end()});
  const Question question = question_of(Ids(keys), [&](Ids some) { return users_by_email(names_, some); });
  const Answers answers = ask(calls_, std::span(&question, 1), Spending::matching);
  return users_of_keys(names_, answers.of_question.front().rows, email_keys);
}

std::vector<std::optional<CrmUser>> SalesforceDirectory::find_users_by_id(Ids ids) {
  const std::vector<std::string> wanted = distinct({ids.begin(), ids.end()});
  std::map<std::string, CrmUser> found;
  const auto statements = [&](Ids some) { return users_by_id(names_, some); };
  each_row(calls_, question_of(Ids(wanted), statements), Spending::matching, [&](const JsonValue& row) {
    CrmUser user = user_of(names_, row);
    found.insert_or_assign(short_id(user.id), std::move(user));
  });
  std::vector<std::optional<CrmUser>> results;
  for (const std::string& id : ids) {
    // An Id whose last three characters do not fit is not that of the user with the same 15.
    const auto at = is_record_id(id) ? found.find(short_id(id)) : found.end();
    results.push_back(at == found.end() ? std::nullopt : std::optional(at->second));
  }
  return results;
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>> SalesforceDirectory::permission_sets(
    Ids user_ids) {
  const std::vector<std::string> users = distinct({user_ids.begin(), user_ids.end()});
  const auto statements = [](Ids some) { return permission_set_assignments(some); };
  AssignmentsByUser found =
      read_assignments(calls_, names_, question_of(Ids(users), statements), Spending::requests,
                       [](const JsonValue& row) { return short_id(text_at(row, "AssigneeId")); });
  std::vector<std::vector<PermissionSetAssignment>> results;
  for (const std::string& user : user_ids)
    results.push_back(is_record_id(user) ? found[short_id(user)] : std::vector<PermissionSetAssignment>());
  return results;
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>>
SalesforceDirectory::permission_sets_by_email(Ids email_keys) {
  const std::vector<std::string> keys = distinct({email_keys.begin(), email_keys.end()});
  const auto statements = [&](Ids some) { return permission_set_assignments_by_email(names_, some); };
  const std::string email = "Assignee." + names_.field("user", "Email");
  AssignmentsByUser found = read_assignments(
      calls_, names_, question_of(Ids(keys), statements), Spending::backfill,
      [&](const JsonValue& row) { return schema::email_key(text_of_value(value_at(row, email))); });
  std::vector<std::vector<PermissionSetAssignment>> results;
  for (const std::string& key : email_keys) results.push_back(found[key]);
  return results;
}

}  // namespace giftsync::daemon::salesforce
