// sync: the task that a gift should have in the CRM (Spec 6.5, design 3.2). Pure.
#pragma once

#include <optional>
#include <string>

#include "schema/crm.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

struct TaskRules {
  bool enabled = false;  ///< gifts that are decided from now on get a task
  std::string type;
  std::string initial_status;
  std::string completed_status;
};

/// Whether nothing more is expected of the gift: redeemed, donated, expired or refunded.
bool is_complete(schema::Status status);

/// What is to be written of a gift's task; nothing when the CRM knows it all. It is made beside the gift's
/// record only; one that was made is completed even while `enabled` is off, and after its gift's record was
/// deleted.
std::optional<schema::TaskUpsert> task_due(const schema::Gift& gift, const schema::GiftMirror& mirror,
                                           const schema::GiftRecord& record, const TaskRules& rules);

/// Where the task stands after such a row was written.
schema::TaskState task_state_after(const schema::TaskUpsert& row, const schema::RowResult& result);

}  // namespace giftsync::sync
