// daemon/salesforce: the tasks of an org that belong to gifts. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/write_control.h"
#include "schema/crm/row_result.h"
#include "schema/crm/tasks.h"
#include "schema/ids.h"

namespace giftsync::daemon::salesforce {

class SalesforceTasks : public schema::crm::Tasks {
 public:
  /// All outlive this object. `is_enabled`: false writes and lists none, as in an org where a gift's task
  /// could be made twice (ORG-10).
  SalesforceTasks(OrgCalls& calls, const ApiNames& names, bool is_enabled, WriteControl control = {})
      : calls_(calls), names_(names), is_enabled_(is_enabled), control_(control) {}

  std::vector<schema::crm::RowResult> upsert(std::span<const schema::crm::TaskUpsert> rows) override;
  std::vector<schema::crm::Task> page(schema::TransactionId after, std::size_t limit) override;

 private:
  OrgCalls& calls_;
  const ApiNames& names_;
  const bool is_enabled_;
  const WriteControl control_;
};

}  // namespace giftsync::daemon::salesforce
