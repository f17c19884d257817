// schema/crm/sql_common: relinks gift records, for both SQL CRMs. Included by schema/'s .cpp files only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm/sql_common/reference_checks.h"

namespace giftsync::schema::crm::sql_common {

/// How the statements name the tables' columns.
struct RelinkTables {
  TransactionTable gifts;
  std::function<std::string(GiftField)> column;  ///< in quotes where needed; empty when the CRM has none
  std::function<std::string(const std::string& cell)> as_stage;  ///< a cell as a value of Deal Stage's column
  std::optional<TransactionTable> tasks;                         ///< none: no task follows its gift
  std::string task_contact = {};                                 ///< the tasks' WhoId
};

/// Relinks existing records in the transaction of the session. Targets that do not exist are left empty
/// (SYNC-17). A task's Name follows its gift, unless a user changed it.
std::vector<RowResult> relink(soci::session& session, sql::Dialect dialect, const RelinkTables& tables,
                              std::span<const GiftRelink> rows, const MissingIdsFinder& find_missing);

}  // namespace giftsync::schema::crm::sql_common
