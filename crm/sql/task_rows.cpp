#include "crm/sql/task_rows.h"

namespace giftsync::crm::sql_crm {
namespace {

using Kind = RowResult::Kind;

TextRows new_task_cells(sql::Dialect dialect, std::span<const TaskUpsert> rows,
                        const MissingIdsFinder& find_missing) {
  RowIds wanted;
  for (const TaskUpsert& row : rows) {
    if (row.exists) continue;
    if (!row.contact_id.empty()) wanted["contact"].insert(row.contact_id);
    if (!row.owner_id.empty()) wanted["user"].insert(row.owner_id);
  }
  RowIds missing = find_missing(wanted);
  const auto unless_missing = [&](const char* object, const std::string& id) {
    return id.empty() || missing[object].contains(id) ? std::nullopt : std::optional(id);
  };
  const auto unless_empty = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  TextRows cells(dialect, 9);
  for (const TaskUpsert& row : rows) {
    if (!row.exists)
      cells.add({std::to_string(row.transaction.value), unless_missing("contact", row.contact_id), row.type,
                 row.status, row.subject, unless_missing("user", row.owner_id),
                 derived_id("00T", row.transaction), unless_empty(row.description),
                 unless_empty(row.due_date)});
  }
  return cells;
}

TransactionIds complete_tasks(soci::session& session, const TaskTables& tables,
                              std::span<const TaskUpsert> rows, const TransactionIds& created) {
  TextRows cells(session, 2);
  for (const TaskUpsert& row : rows) {
    if (row.completed && !created.contains(row.transaction.value))
      cells.add({std::to_string(row.transaction.value), row.status});
  }
  return update_rows(session, tables.tasks, cells, tables.status + " = c1",
                     "t." + tables.status + " IS DISTINCT FROM c1");
}

}  // namespace

std::vector<RowResult> write_tasks(soci::session& session, const TaskTables& tables,
                                   std::span<const TaskUpsert> rows, const MissingIdsFinder& find_missing) {
  TextRows cells = new_task_cells(session, rows, find_missing);
  TransactionIds created;
  if (!cells.empty()) created = run_returning(session, cells, tables.insert(cells.as_table()));
  const TransactionIds updated = complete_tasks(session, tables, rows, created);
  std::vector<std::int64_t> ids;
  for (const TaskUpsert& row : rows) ids.push_back(row.transaction.value);
  const TransactionIds known = existing_transactions(session, tables.tasks, ids);
  const TransactionIds deleted = excluded_transactions(session, tables.tasks, ids);
  TransactionIds gifts;
  if (tables.gifts) gifts = existing_transactions(session, *tables.gifts, ids);
  std::vector<RowResult> results;
  for (const TaskUpsert& row : rows) {
    const std::int64_t id = row.transaction.value;
    if (created.contains(id))
      results.push_back({Kind::created, {}, {}});
    else if (updated.contains(id))
      results.push_back({Kind::updated, {}, {}});
    else if (known.contains(id))
      results.push_back({Kind::unchanged, {}, {}});
    else if (row.exists || deleted.contains(id))
      results.push_back({Kind::not_found, "the task was deleted in the CRM", {}});
    else if (gifts.contains(id))
      results.push_back({Kind::retry, "its gift record has no Id yet; it waits for the replication", {}});
    else
      results.push_back({Kind::not_found, "the task's gift record is not in the CRM", {}});
  }
  return results;
}

}  // namespace giftsync::crm::sql_crm
