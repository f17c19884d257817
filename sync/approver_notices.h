// sync: notices for approvers of request records that wait for them (CON-31). Throws
// platform::DependencyError when store or CRM fail; a repeated call adds nothing twice.
#pragma once

#include <optional>
#include <span>

#include "schema/crm/crm.h"
#include "schema/store/store.h"
#include "sync/request_record_defaults.h"

namespace giftsync::sync {

struct ApproverNoticeRules {
  /// For which request records are sent; approvers of other organizations get nothing.
  std::optional<schema::OrganizationId> organization = {};
  bool allow_self_approval = false;
};

/// Of these records the ones that wait and of which no approver has a notice: one for each active approver
/// who may decide on it. `waiting`: as the CRM has them.
void add_approver_notices(schema::store::Store& store, schema::crm::Crm& crm,
                          const ApproverNoticeRules& rules, std::span<const LoadedRequestRecord> waiting,
                          platform::UtcMillis now);

/// What approvers and their mails call the gift of a record, and its cost; the cost is empty when the
/// catalogue does not say it.
struct RequestedItem {
  std::string name;
  std::string cost;
};
RequestedItem requested_item(schema::store::Catalogue& catalogue, const schema::RequestRecord& record);

}  // namespace giftsync::sync
