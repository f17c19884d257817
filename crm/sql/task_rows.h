// crm/sql: writes the tasks of gifts, for both SQL CRMs. Included by schema/'s .cpp files only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/sql/reference_checks.h"
#include "crm/tasks.h"

namespace giftsync::crm::sql_crm {

/// How the statements name the tables.
struct TaskTables {
  TransactionTable tasks;
  std::string status;  ///< the tasks' column
  /// The statement that inserts tasks from a table of cells and returns their transactions. The cells are
  /// c0 transaction, c1 contact, c2 type, c3 status, c4 subject, c5 owner, c6 derived_id(), c7
  /// description, c8 due date.
  std::function<std::string(const std::string& cells)> insert;
  std::optional<TransactionTable> gifts;  ///< where gift records may have no Id yet: such a task waits
};

/// Inserts and completes tasks in the transaction of the session. A contact or owner that does not exist
/// stays empty.
std::vector<RowResult> write_tasks(soci::session& session, const TaskTables& tables,
                                   std::span<const TaskUpsert> rows, const MissingIdsFinder& find_missing);

}  // namespace giftsync::crm::sql_crm
