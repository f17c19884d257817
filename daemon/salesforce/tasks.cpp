#include "daemon/salesforce/tasks.h"

#include <utility>

#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/statements.h"
#include "daemon/salesforce/task_upserts.h"

namespace giftsync::daemon::salesforce {

using schema::crm::RowResult;
using schema::crm::Task;
using schema::crm::TaskUpsert;

std::vector<RowResult> SalesforceTasks::upsert(std::span<const TaskUpsert> rows) {
  std::vector<RowResult> unchanged(rows.size(), {RowResult::Kind::unchanged, {}, {}});
  if (!is_enabled_ || rows.empty()) return unchanged;
  const WriteTurn turn(control_);
  if (!turn.mode().offers_tasks) return unchanged;
  return TaskUpserts(calls_, names_, turn.bare() == nullptr).run(rows);
}

std::vector<Task> SalesforceTasks::page(schema::TransactionId after, std::size_t limit) {
  std::vector<Task> tasks;
  const bool is_offered = is_enabled_ && (control_.modes == nullptr || control_.modes->offers_tasks());
  if (!is_offered || limit == 0) return tasks;
  each_row(calls_, question_of(task_page(names_, after, limit), true), Spending::backfill,
           [&](const platform::JsonValue& row) {
             if (auto task = read_task(names_, row)) tasks.push_back(std::move(*task));
           });
  return tasks;
}

}  // namespace giftsync::daemon::salesforce
