#include "sync/request_record_authorization.h"

#include <algorithm>

#include "schema/contact_normalization.h"

namespace giftsync::sync {

using F = schema::RequestRecordField;

bool RequestRecordCaller::is_crm_user(const std::string& user_id) const {
  return std::any_of(crm_users.begin(), crm_users.end(),
                     [&](const schema::crm::CrmUser& user) { return user.id == user_id; });
}

RequestRecordParties parties_of(const schema::RequestRecord& record,
                                std::span<const schema::store::RequestRecordEntry> known) {
  return {known.empty() ? "" : known.front().requested_by, record.text(F::created_by),
          record.text(F::sender)};
}

bool is_own(const RequestRecordParties& parties, const RequestRecordCaller& caller) {
  return schema::email_key(parties.requested_by) == schema::email_key(caller.owner.account.email) ||
         caller.is_crm_user(parties.created_by) || caller.is_crm_user(parties.sender);
}

AutoApprovalAccess auto_approval_access(const RequestRecordCaller& caller, const std::string& sender,
                                        bool api_auto_approval) {
  if (caller.is_approver()) return AutoApprovalAccess::allowed;
  if (!api_auto_approval) return AutoApprovalAccess::missing_scope;
  return sender.empty() || caller.is_crm_user(sender) ? AutoApprovalAccess::allowed
                                                      : AutoApprovalAccess::other_sender;
}

}  // namespace giftsync::sync
