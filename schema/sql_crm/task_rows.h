// schema/sql_crm: tasks in crm_task, one a gift by RecipientTransactionId (Spec 6.5). Included by schema/'s
// .cpp files only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

std::vector<RowResult> upsert_task_rows(sql::Database& database, std::span<const TaskUpsert> rows);

std::vector<Task> read_task_rows(sql::Database& database, TransactionId after, std::size_t limit);

}  // namespace giftsync::schema::sql_crm
