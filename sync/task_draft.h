// sync: the task that a gift should have in the CRM (SYNC-30, SYNC-33). Pure.
#pragma once

#include <optional>
#include <string>

#include "schema/crm/crm.h"
#include "schema/store/gift_requests.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

struct TaskRules {
  bool enabled = false;  ///< gifts that are decided from now on get a task
  std::string type;
  std::string initial_status;
  std::string completed_status;
};

/// Whether the gift has reached a final status: redeemed, donated, expired or refunded.
bool is_complete(schema::Status status);

/// What must be written of a gift's task; nullopt when the CRM has everything. A task is created only
/// for a gift whose record is written, or about to be (`creates_record`). An existing task is completed even
/// while `enabled` is off and after the gift's record was deleted.
std::optional<schema::crm::TaskUpsert> next_task_write(const schema::store::Gift& gift,
                                                       const schema::store::CrmSyncState& sync_state,
                                                       const schema::GiftRecord& record,
                                                       const TaskRules& rules, bool creates_record = false);

/// The task's state after such a row was written.
schema::store::TaskState task_state_after(const schema::crm::TaskUpsert& row,
                                          const schema::crm::RowResult& result);

}  // namespace giftsync::sync
