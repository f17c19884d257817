#include "sync/request_record_authorization.h"

#include <algorithm>

#include "schema/contact_normalization.h"

namespace giftsync::sync {

using F = schema::RequestRecordField;

namespace {

bool contains(const std::vector<schema::crm::CrmUser>& users, const std::string& user_id) {
  return std::any_of(users.begin(), users.end(),
                     [&](const schema::crm::CrmUser& user) { return user.id == user_id; });
}

}  // namespace

RequestRecordParties parties_of(const schema::RequestRecord& record,
                                std::span<const schema::store::RequestRecordEntry> known) {
  return {known.empty() ? "" : known.front().requested_by, record.text(F::created_by),
          record.text(F::sender)};
}

bool is_own(const RequestRecordParties& parties, const std::string& email,
            const std::function<std::vector<schema::crm::CrmUser>()>& find_crm_users) {
  if (schema::email_key(parties.requested_by) == schema::email_key(email)) return true;
  const std::vector<schema::crm::CrmUser> users = find_crm_users();
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
