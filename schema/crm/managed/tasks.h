// schema/crm/managed: tasks in crm_task, one per gift by RecipientTransactionId (SYNC-31). Included by
// schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schema/crm/tasks.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

class ManagedTasks : public Tasks {
 public:
  explicit ManagedTasks(sql::Database& database) : database_(database) {}

  std::vector<RowResult> upsert(std::span<const TaskUpsert> rows) override;
  std::vector<Task> page(TransactionId after, std::size_t limit) override;

 private:
  sql::Database& database_;
};

}  // namespace giftsync::schema::crm::managed
