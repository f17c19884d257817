// sync: notices for approvers of request records that wait for them (CON-31). Throws
// DependencyError when store or CRM fail; a repeated call adds nothing twice.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "schema/store/account/credentials.h"
#include "schema/store/crm/request_records.h"
#include "schema/store/store.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::sync {

struct ApproverNoticeRules {
  /// For which request records are sent; approvers of other organizations get nothing.
  std::optional<OrganizationId> organization = {};
  bool allow_self_approval = false;
};

/// Notices about those of these records that wait and that no approver was notified of: one for each approver
/// who may decide on it. `waiting`: as the CRM has them.
void add_approver_notices(store::Store& store, crm::Crm& crm, const ApproverNoticeRules& rules,
                          std::span<const LoadedRequestRecord> waiting, UtcMillis now);

/// The same about held gift requests (GUARD-29): one for each approver who sees the organization and whose
/// own account did not ask for it.
void add_held_notices(store::Store& store, bool allow_self_approval, UtcMillis now);

/// What approvers and their mails call the gift of a record, and its cost; without one when the
/// catalogue does not say it.
struct RequestedItem {
  std::string name;
  std::optional<Money> total = {};
};
RequestedItem requested_item(store::Catalogue& catalogue, const RequestRecord& record);

// Who may read, approve or auto-approve a request record over HTTP, and who gets its gift's URLs
// (REQ-44, REQ-45, REQ-46, REQ-50). Pure. The command line has no such limits (REQ-47).

/// An authenticated caller. The CRM users with the e-mail address of the caller's account are read only when
/// a decision depends on them: that is a query of the CRM.
struct RequestRecordCaller {
  const store::ApiKeyOwner& owner;
  std::function<std::vector<crm::CrmUser>()> find_crm_users;

  bool is_approver() const { return owner.key.scopes.contains(Scope::approve); }
};

/// Who asked for a request record. Empty fields match no caller's account.
struct RequestRecordParties {
  std::string requested_by;  ///< e-mail address of the account or person that made it outside the CRM
  std::string created_by;    ///< CRM user id
  std::string sender;        ///< CRM user id
};

/// `known` holds at most the store's entry of this record.
RequestRecordParties parties_of(const RequestRecord& record,
                                std::span<const store::RequestRecordEntry> known);

/// Whether the person with this address asked for the request, or is its CRM creator or Sender.
/// `find_crm_users`: the CRM's users with the address; called only when the address does not decide.
bool is_own(const RequestRecordParties& parties, const std::string& email,
            const std::function<std::vector<crm::CrmUser>()>& find_crm_users);
/// Whether the caller did, or is.
bool is_own(const RequestRecordParties& parties, const RequestRecordCaller& caller);

enum class AutoApprovalAccess { allowed, not_enabled, other_sender };
/// The settings requests.allow_api_auto_approval and requests.allow_self_approval.
struct ApprovalSettings {
  bool api_auto_approval = false;
  bool self_approval = false;
};
/// Whether the caller may set Auto_Approved on a new record, which approves the caller's own request
/// (REQ-44). `sender` is a CRM user id, empty for the caller.
AutoApprovalAccess auto_approval_access(const RequestRecordCaller& caller, const std::string& sender,
                                        const ApprovalSettings& settings);

}  // namespace giftsync::sync
