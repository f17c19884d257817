#include "schema/crm/external/tasks.h"

#include <set>

#include "schema/crm/external/gift_sql.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/sql_common/bisect_upsert.h"
#include "schema/crm/sql_common/transaction_rows.h"

namespace giftsync::schema::crm::external {
namespace {

using Kind = RowResult::Kind;

constexpr const char* kTask = "task";

std::optional<std::string> unless_missing(const std::string& id, const std::set<std::string>& missing) {
  return id.empty() || missing.contains(id) ? std::nullopt : std::optional(id);
}

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
    columns.names += comma + sql_common::quoted(name);
    columns.values += comma + value;
  };
  add(kTransaction, tables.cast("c0", kTask, kTransaction));
  std::size_t cell = 1;
  for (const char* field : {"WhoId", "Type", "Status", "Subject", "OwnerId"})
    add(field, tables.cast("c" + std::to_string(cell++), kTask, field));
  add("WhatId", tables.column("g", "gift_record", "Id"));
  return columns;
}

sql_common::TransactionIds insert(soci::session& session, const MappedTables& tables,
                                  std::span<const TaskUpsert> rows) {
  std::set<std::string> contacts;
  std::set<std::string> users;
  for (const TaskUpsert& row : rows) {
    if (!row.exists && !row.contact_id.empty()) contacts.insert(row.contact_id);
    if (!row.exists && !row.owner_id.empty()) users.insert(row.owner_id);
  }
  const auto no_contact = missing_ids(session, tables, "contact", contacts);
  const auto no_user = missing_ids(session, tables, "user", users);
  sql_common::TextRows texts(tables.dialect(), 6);
  for (const TaskUpsert& row : rows) {
    if (!row.exists)
      texts.add({std::to_string(row.transaction.value), unless_missing(row.contact_id, no_contact), row.type,
                 row.status, row.subject, unless_missing(row.owner_id, no_user)});
  }
  if (texts.empty()) return {};
  const Columns columns = written_columns(tables);
  const std::string column = sql_common::quoted(tables.mapping().column_name(kTask, kTransaction));
  return sql_common::run_returning(
      session, texts,
      "INSERT INTO " + tables.table(kTask) + " (" + columns.names + ") SELECT " + columns.values + " FROM " +
          texts.as_table() + " JOIN " + tables.table(kGiftObject) + " g ON " +
          tables.column("g", kGiftObject, kTransaction) + " = " +
          tables.cast("c0", kGiftObject, kTransaction) + " WHERE " + tables.column("g", "gift_record", "Id") +
          " IS NOT NULL ON CONFLICT (" + column + ") DO NOTHING RETURNING " +
          as_integer(tables.dialect(), column));
}

sql_common::TransactionIds complete(soci::session& session, const MappedTables& tables,
                                    std::span<const TaskUpsert> rows,
                                    const sql_common::TransactionIds& created) {
  sql_common::TextRows texts(tables.dialect(), 2);
  for (const TaskUpsert& row : rows) {
    if (row.completed && !created.contains(row.transaction.value))
      texts.add({std::to_string(row.transaction.value), row.status});
  }
  if (texts.empty()) return {};
  const std::string status = sql_common::quoted(tables.mapping().column_name(kTask, "Status"));
  return sql_common::run_returning(
      session, texts,
      "UPDATE " + tables.table(kTask) + " AS t SET " + status + " = c1 FROM " + texts.as_table() + " WHERE " +
          tables.column("t", kTask, kTransaction) + " = " + tables.cast("c0", kTask, kTransaction) +
          " AND t." + status + " IS DISTINCT FROM c1 RETURNING " + transaction_of(tables, "t", kTask));
}

std::vector<RowResult> write(soci::session& session, const MappedTables& tables,
                             std::span<const TaskUpsert> rows) {
  const sql_common::TransactionIds created = insert(session, tables, rows);
  const sql_common::TransactionIds updated = complete(session, tables, rows, created);
  std::vector<std::int64_t> ids;
  for (const TaskUpsert& row : rows) ids.push_back(row.transaction.value);
  const auto known = existing_transactions(session, tables, kTask, ids);
  const auto gifts = existing_transactions(session, tables, "gift_record", ids);
  std::vector<RowResult> results;
  for (const TaskUpsert& row : rows) {
    const std::int64_t id = row.transaction.value;
    if (created.contains(id))
      results.push_back({Kind::created, {}, {}});
    else if (updated.contains(id))
      results.push_back({Kind::updated, {}, {}});
    else if (known.contains(id))
      results.push_back({Kind::unchanged, {}, {}});
    else if (row.exists)
      results.push_back({Kind::not_found, "the task was deleted in the CRM", {}});
    else if (gifts.contains(id))
      results.push_back({Kind::retry, "its gift record has no Id yet; it waits for the replication", {}});
    else
      results.push_back({Kind::not_found, "the task's gift record is not in the CRM", {}});
  }
  return results;
}

}  // namespace

std::vector<RowResult> ExternalTasks::upsert(std::span<const TaskUpsert> rows) {
  // Tasks of gifts from when they were enabled.
  if (!enabled_) return std::vector<RowResult>(rows.size(), {Kind::unchanged, {}, {}});
  return sql_common::bisect_upsert(rows, [&](std::span<const TaskUpsert> some) {
    return crm_.write(
        [&](soci::session& session, const MappedTables& tables) { return write(session, tables, some); });
  });
}

std::vector<Task> ExternalTasks::page(TransactionId after, std::size_t limit) {
  if (!enabled_) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kTask, kTransaction);
    std::string query = "SELECT " + transaction_of(tables, "t", kTask);
    for (const char* field : {"Id", "WhatId", "WhoId", "Type", "Status", "Subject", "OwnerId"})
      query += ", " + tables.text("t", kTask, field);
    query += " FROM " + tables.table(kTask) + " t WHERE " + column + " > :after ORDER BY " + column +
             " LIMIT " + std::to_string(limit);
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

}  // namespace giftsync::schema::crm::external
