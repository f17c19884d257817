#include "crm/sql/external/tasks.h"

#include "crm/sql/external/gift_records.h"
#include "crm/sql/external/person_lookup.h"
#include "crm/sql/rows_by_key.h"
#include "crm/sql/task_rows.h"

namespace giftsync::crm::external {
namespace {

constexpr const char* kTask = "task";

/// The fields that the CRM has, with their cells; WhatId is the gift record's Id.
struct Columns {
  std::string names;
  std::string values;
};
Columns written_columns(const MappedTables& tables) {
  Columns columns;
  const auto add = [&](const char* field, const std::string& value) {
    const std::string name = tables.mapping().column_name(kTask, field);
    if (name.empty()) return;
    const std::string comma = columns.names.empty() ? "" : ", ";
    columns.names += comma + crm::sql_crm::quoted(name);
    columns.values += comma + value;
  };
  add(kTransaction, tables.cast("c0", kTask, kTransaction));
  std::size_t cell = 1;
  for (const char* field : {"WhoId", "Type", "Status", "Subject", "OwnerId"})
    add(field, tables.cast("c" + std::to_string(cell++), kTask, field));
  add("WhatId", tables.column("g", kGiftObject, "Id"));
  return columns;
}

std::string insert_statement(const MappedTables& tables, const std::string& cells) {
  const Columns columns = written_columns(tables);
  const std::string column = crm::sql_crm::quoted(tables.mapping().column_name(kTask, kTransaction));
  return "INSERT INTO " + tables.table(kTask) + " (" + columns.names + ") SELECT " + columns.values +
         " FROM " + cells + " JOIN " + tables.table(kGiftObject) + " g ON " +
         tables.column("g", kGiftObject, kTransaction) + " = " +
         tables.cast("c0", kGiftObject, kTransaction) + " WHERE " + tables.column("g", kGiftObject, "Id") +
         " IS NOT NULL AND " + tables.not_deleted("g", kGiftObject) + " ON CONFLICT (" + column +
         ") DO NOTHING RETURNING " + as_integer(tables.dialect(), column);
}

}  // namespace

std::vector<RowResult> ExternalTasks::upsert(std::span<const TaskUpsert> rows) {
  // Tasks of gifts from when they were enabled.
  if (!enabled_) return std::vector<RowResult>(rows.size(), {RowResult::Kind::unchanged, {}, {}});
  return crm::sql_crm::bisect_upsert(rows, [&](std::span<const TaskUpsert> some) {
    return crm_.write([&](soci::session& session, const MappedTables& tables) {
      const crm::sql_crm::TaskTables written{
          transaction_table(tables, kTask),
          crm::sql_crm::quoted(tables.mapping().column_name(kTask, "Status")),
          [&](const std::string& cells) { return insert_statement(tables, cells); },
          transaction_table(tables, kGiftObject)};
      return crm::sql_crm::write_tasks(
          session, tables.dialect(), written, some,
          [&](const crm::sql_crm::RowIds& ids) { return missing_rows(session, tables, ids); });
    });
  });
}

std::vector<Task> ExternalTasks::page(TransactionId after, std::size_t limit) {
  if (!enabled_) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kTask, kTransaction);
    std::string query = "SELECT " + transaction_of(tables, "t", kTask);
    for (const char* field : {"Id", "WhatId", "WhoId", "Type", "Status", "Subject", "OwnerId"})
      query += ", " + tables.text("t", kTask, field);
    query += " FROM " + tables.table(kTask) + " t WHERE " + tables.not_deleted("t", kTask) + " AND " +
             column + " > :after ORDER BY " + column + " LIMIT " + std::to_string(limit);
    std::vector<Task> tasks;
    Task task;
    soci::statement statement = sql::bound(
        session, query, soci::into(task.transaction), soci::into(task.id), soci::into(task.what_id),
        soci::into(task.who_id), soci::into(task.type), soci::into(task.status), soci::into(task.subject),
        soci::into(task.owner_id), soci::use(after));
    sql::each_row(statement, [&] { tasks.push_back(task); });
    return tasks;
  });
}

}  // namespace giftsync::crm::external
