#include "sync/request/approver_notices.h"

#include <algorithm>
#include <map>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/money.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;
using store::ApproverNotice;
using store::ConsoleUser;

std::vector<ConsoleUser> approvers_of(store::ConsoleUsers& console_users,
                                      std::optional<OrganizationId> organization) {
  std::vector<ConsoleUser> users = console_users.list(store::Viewer::of_command_line());
  std::erase_if(users, [&](const ConsoleUser& user) {
    return !user.active || !user.role_set().contains(Role::approver) ||
           (user.organization && user.organization != organization);
  });
  return users;
}

/// The CRM's users with the address of each approver, in one call.
std::vector<std::vector<crm::CrmUser>> crm_users_of(crm::Crm& crm,
                                                    const std::vector<ConsoleUser>& approvers) {
  std::vector<std::string> keys;
  for (const ConsoleUser& user : approvers) keys.push_back(email_key(user.email));
  return crm.directory().find_users_by_email(keys);
}

}  // namespace

RequestedItem requested_item(store::Catalogue& catalogue, const RequestRecord& record) {
  const auto id = gift_id_of(record);
  const auto item = id ? catalogue.item(*id) : std::nullopt;
  if (!item) return {std::string(giftsync::trimmed(record.text(F::gift_id))), ""};
  const auto total = request_costs(*item, record).total();
  return {item->name, total ? to_decimal(*total) : ""};
}

void add_approver_notices(store::Store& store, crm::Crm& crm, const ApproverNoticeRules& rules,
                          std::span<const LoadedRequestRecord> waiting, UtcMillis now) {
  std::map<std::string, const LoadedRequestRecord*> by_id;
  std::vector<std::string> ids;
  for (const LoadedRequestRecord& request_record : waiting) {
    by_id.emplace(request_record.row.id, &request_record);
    ids.push_back(request_record.row.id);
  }
  const auto unnoticed = store.approver_notices.find_unnoticed(ids);
  if (unnoticed.empty()) return;
  const std::vector<ConsoleUser> approvers = approvers_of(store.console_users, rules.organization);
  if (approvers.empty()) return;
  const auto crm_users = crm_users_of(crm, approvers);
  std::vector<ApproverNotice> notices;
  for (const store::UnnoticedRecord& unnoticed_record : unnoticed) {
    const LoadedRequestRecord& record = *by_id.at(unnoticed_record.record_id);
    const RequestRecordParties parties =
        parties_of(record.row, store.request_records.find(std::span(&unnoticed_record.record_id, 1)));
    const RequestedItem item = requested_item(store.catalogue, record.completed);
    for (std::size_t i = 0; i < approvers.size(); ++i) {
      const auto own_users = [&] { return crm_users[i]; };
      if (!rules.allow_self_approval && is_own(parties, approvers[i].email, own_users)) continue;
      notices.push_back({approvers[i].id, unnoticed_record.transition, unnoticed_record.record_id,
                         record.row.text(F::number), item.name, item.cost});
    }
  }
  store.approver_notices.add(notices, now);
}

namespace {

bool contains(const std::vector<crm::CrmUser>& users, const std::string& user_id) {
  return std::any_of(users.begin(), users.end(),
                     [&](const crm::CrmUser& user) { return user.id == user_id; });
}

}  // namespace

RequestRecordParties parties_of(const RequestRecord& record,
                                std::span<const store::RequestRecordEntry> known) {
  return {known.empty() ? "" : known.front().requested_by, record.text(F::created_by),
          record.text(F::sender)};
}

bool is_own(const RequestRecordParties& parties, const std::string& email,
            const std::function<std::vector<crm::CrmUser>()>& find_crm_users) {
  if (email_key(parties.requested_by) == email_key(email)) return true;
  const std::vector<crm::CrmUser> users = find_crm_users();
  return contains(users, parties.created_by) || contains(users, parties.sender);
}

bool is_own(const RequestRecordParties& parties, const RequestRecordCaller& caller) {
  return is_own(parties, caller.owner.account.email, caller.find_crm_users);
}

AutoApprovalAccess auto_approval_access(const RequestRecordCaller& caller, const std::string& sender,
                                        const ApprovalSettings& settings) {
  if (caller.is_approver() && settings.self_approval) return AutoApprovalAccess::allowed;
  if (!settings.api_auto_approval) return AutoApprovalAccess::not_enabled;
  return sender.empty() || contains(caller.find_crm_users(), sender) ? AutoApprovalAccess::allowed
                                                                     : AutoApprovalAccess::other_sender;
}

}  // namespace giftsync::sync
