#include "daemon/console/access.h"

#include <algorithm>
#include <initializer_list>
#include <map>

#include "platform/dependency_error.h"
#include "schema/contact_normalization.h"
#include "sync/access/credential.h"
#include "sync/request/approver_notices.h"

namespace giftsync::console {
namespace {

/// Users with any of the roles have the permission.
struct PermittedRoles {
  Permission permission;
  std::initializer_list<Role> roles;
};
constexpr PermittedRoles kPermitted[] = {
    {Permission::see_own, {Role::sender, Role::approver, Role::admin, Role::operations, Role::auditor}},
    {Permission::see_users, {Role::admin, Role::operations, Role::auditor}},
    {Permission::manage_users, {Role::operations}},
    {Permission::see_keys, {Role::admin, Role::operations, Role::auditor}},
    {Permission::manage_keys, {Role::admin}},
    {Permission::see_webhooks, {Role::admin, Role::operations, Role::auditor}},
    {Permission::manage_webhooks, {Role::admin}},
    {Permission::pause_mail, {Role::admin, Role::operations}},
    {Permission::act_on_gifts, {Role::sender, Role::admin, Role::operations}},
    {Permission::cancel_many, {Role::admin, Role::operations}},
    {Permission::manage_people, {Role::admin}},
    {Permission::see_crm, {Role::admin, Role::operations, Role::auditor}},
    {Permission::act_on_crm, {Role::admin, Role::operations}},
    {Permission::decide_requests, {Role::approver}},
    {Permission::see_held, {Role::approver, Role::admin, Role::operations}},
    {Permission::see_operations, {Role::admin, Role::operations, Role::auditor}},
    {Permission::operate, {Role::operations}},
    {Permission::act_on_list, {Role::admin, Role::operations}},
    {Permission::see_settings, {Role::operations, Role::auditor}},
};

}  // namespace

bool may(const RoleSet& roles, Permission permission) {
  if (permission == Permission::open || permission == Permission::signed_in) return true;
  for (const PermittedRoles& permitted_roles : kPermitted)
    if (permitted_roles.permission == permission)
      return std::any_of(permitted_roles.roles.begin(), permitted_roles.roles.end(),
                         [&](Role role) { return roles.contains(role); });
  return false;
}

std::optional<CountedGifts> counted_gifts(const store::Viewer& viewer) {
  if (viewer.sees_all_senders()) return CountedGifts{.organization = viewer.organization};
  if (viewer.roles.empty() || !viewer.account) return std::nullopt;
  return CountedGifts{
      .part = sync::ReportPart{store::RollupDimension::account, std::to_string(viewer.account->value)}};
}

namespace {

/// As many are looked at for one page.
constexpr std::size_t kMaxWaiting = 100;

}  // namespace

bool uses_request_records(const PageCall& call) {
  const config::Settings* settings = call.console.options.in_force;
  return settings && settings->requests.enabled && call.console.options.crm.crm;
}

bool decides_requests_here(const PageCall& call) {
  return uses_request_records(call) &&
         call.console.options.in_force->crm.kind() != config::CrmKind::salesforce &&
         call.console.options.crm.crm->request_records();
}

std::optional<OrganizationId> owner_of_requests(const PageCall& call) {
  if (!uses_request_records(call)) return std::nullopt;
  const config::RequestSettings& requests = call.console.options.in_force->requests;
  const sync::TokenStatus token =
      sync::token_status(call.store().credentials, requests.organization_token.reveal(), call.now);
  if (token.state != sync::TokenStatus::State::active) return std::nullopt;
  return token.organization;
}

bool sees_all_requests(const PageCall& call) {
  const store::Viewer& viewer = call.viewer();
  if (!uses_request_records(call) || (viewer.organization && viewer.organization != owner_of_requests(call)))
    return false;
  return viewer.sees_all_senders() || viewer.has(Role::approver);
}

std::vector<bool> are_own_requests(const PageCall& call, const std::vector<RequestRecord>& rows) {
  std::vector<bool> own(rows.size(), false);
  if (rows.empty() || call.console.options.in_force->requests.allow_self_approval) return own;
  const std::string key = email_key(call.by->user.email);
  const auto users =
      call.console.options.crm.crm->directory().find_users_by_email(std::span(&key, 1)).front();
  std::vector<std::string> ids;
  for (const RequestRecord& row : rows) ids.push_back(row.id);
  std::map<std::string, store::RequestRecordEntry> known;
  for (auto& entry : call.store().request_records.find(ids)) known.emplace(entry.record_id, entry);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto entry = known.find(rows[i].id);
    const auto parties = sync::parties_of(
        rows[i], entry == known.end() ? std::span<const store::RequestRecordEntry>()
                                      : std::span<const store::RequestRecordEntry>(&entry->second, 1));
    own[i] = sync::is_own(
        parties, call.by->user.email, [&]() -> const auto& { return users; });
  }
  return own;
}

std::string requester_text(const std::string& requested_by) {
  if (requested_by.empty()) return texts().text("requested_in_crm");
  if (requested_by.find('@') != std::string::npos) return requested_by;
  return texts().text("requested_by_command", {{"who", requested_by}});
}

bool is_not_sent(store::RequestRecordState state, const std::string& error) {
  return state == store::RequestRecordState::approved && !error.empty();
}

std::string request_state_text(store::RequestRecordState state, const std::string& error) {
  return texts().text(request_state_key(state, error));
}

std::string request_state_key(store::RequestRecordState state, const std::string& error) {
  return is_not_sent(state, error) ? "request_not_sent" : "request_" + std::string(to_word(state));
}

bool hides_recipients(const PageCall& call) {
  return call.viewer().is_masked() && !may(call.viewer().roles, Permission::decide_requests);
}

WaitingRequests requests_to_decide(const PageCall& call) {
  WaitingRequests waiting;
  if (!may(call.viewer().roles, Permission::decide_requests) || !decides_requests_here(call)) return waiting;
  const auto listed =
      call.store().request_records.list(call.viewer(), owner_of_requests(call), {}, "", kMaxWaiting);
  waiting.is_cut = listed.size() == kMaxWaiting;
  std::vector<std::string> ids;
  for (const auto& one : listed) ids.push_back(one.record_id);
  if (ids.empty()) return waiting;
  waiting.is_known = false;
  ask_responding_crm([&] {
    const auto rows = call.console.options.crm.crm->request_records()->find(ids);
    const std::vector<bool> own = are_own_requests(call, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!own[i]) waiting.numbers.push_back(rows[i].text(RequestRecordField::number));
    waiting.is_known = true;
  });
  return waiting;
}

store::HeldFilter waiting_held_requests(const PageCall& call) {
  store::HeldFilter filter{HeldState::held};
  filter.test = call.viewer().test;
  if (call.viewer().organization) filter.organization = call.viewer().organization;
  return filter;
}

std::size_t count_failed_requests(const PageCall& call) {
  if (!uses_request_records(call)) return 0;
  const store::RequestRecordFilter failed{store::RequestRecordState::pending, true};
  return call.store()
      .request_records.list(call.viewer(), owner_of_requests(call), failed, "", kMaxWaiting)
      .size();
}

std::optional<RequestOfGift> request_of_gift(const PageCall& call, GiftRequestId id) {
  store::RequestRecords& records = call.store().request_records;
  const auto links = records.find_gifts_by_request(std::span(&id, 1));
  if (links.empty()) return std::nullopt;
  const auto owner = owner_of_requests(call);
  if (call.viewer().organization && call.viewer().organization != owner) return std::nullopt;
  auto entries = records.find(std::span(&links.front().link.record_id, 1));
  if (entries.empty()) return std::nullopt;
  RequestOfGift found{std::move(entries.front())};
  for (const auto& transition : records.find_transitions(found.entry.record_id))
    if (transition.to == to_word(store::RequestRecordState::approved)) found.approved_at = transition.at;
  if (found.entry.approved_by.empty()) found.approved_at.reset();
  const auto seen = records.find(call.viewer(), owner, name_of_request(found.entry));
  found.is_seen = seen && seen->record_id == found.entry.record_id;
  return found;
}

void ask_responding_crm(const std::function<void()>& ask) {
  try {
    ask();
  } catch (const DependencyError& fault) {
    if (!fault.of_external_crm()) throw;
  }
}

const std::string& name_of_request(const store::RequestRecordEntry& entry) {
  return entry.number.empty() ? entry.record_id : entry.number;
}

std::string path_of_request(const std::string& number) {
  return "/requests/" + number;
}

}  // namespace giftsync::console
