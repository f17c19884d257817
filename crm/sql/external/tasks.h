// crm/sql/external: tasks in an external table, one per gift by RecipientTransactionId (SYNC-31). Included
// by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crm/sql/external/external_database.h"
#include "crm/tasks.h"

namespace giftsync::crm::external {

class ExternalTasks : public Tasks {
 public:
  /// Unless `enabled` the table may not be mapped: every row is `unchanged`, and there is no task.
  ExternalTasks(ExternalDatabase& crm, bool enabled) : crm_(crm), enabled_(enabled) {}

  std::vector<RowResult> upsert(std::span<const TaskUpsert> rows) override;
  std::vector<Task> page(TransactionId after, std::size_t limit) override;

 private:
  ExternalDatabase& crm_;
  const bool enabled_;
};

}  // namespace giftsync::crm::external
