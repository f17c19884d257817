// schema/crm/managed: tasks in crm_task, one per gift by RecipientTransactionId (SYNC-31). Included by
// schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

std::vector<RowResult> upsert_task_rows(sql::Database& database, std::span<const TaskUpsert> rows);

std::vector<Task> read_task_rows(sql::Database& database, TransactionId after, std::size_t limit);

}  // namespace giftsync::schema::crm::managed
