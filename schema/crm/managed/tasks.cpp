#include "schema/crm/managed/tasks.h"

#include "schema/crm/sql_common/bisect_upsert.h"
#include "schema/crm/sql_common/transaction_rows.h"

namespace giftsync::schema::crm::managed {
namespace {

using Kind = RowResult::Kind;

std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

/// The people that tasks name and that are not there any more: such a Name or Owner stays empty.
sql_common::RowIds missing_people(soci::session& session, sql::Dialect dialect,
                                  std::span<const TaskUpsert> rows) {
  sql_common::RowIds wanted;
  for (const TaskUpsert& row : rows) {
    if (row.exists) continue;
    if (!row.contact_id.empty()) wanted["contact"].insert(row.contact_id);
    if (!row.owner_id.empty()) wanted["user"].insert(row.owner_id);
  }
  return sql_common::missing_rows(session, dialect, wanted);
}

sql_common::TransactionIds insert_tasks(soci::session& session, sql::Dialect dialect,
                                        std::span<const TaskUpsert> rows) {
  sql_common::RowIds missing = missing_people(session, dialect, rows);
  sql_common::TextRows texts(dialect, 7);
  for (const TaskUpsert& row : rows) {
    if (row.exists) continue;
    const bool has_contact = !missing["contact"].contains(row.contact_id);
    const bool has_owner = !missing["user"].contains(row.owner_id);
    texts.add({std::to_string(row.transaction.value), sql_common::derived_id("00T", row.transaction),
               has_contact ? text_or_null(row.contact_id) : std::nullopt, row.type, row.status, row.subject,
               has_owner ? text_or_null(row.owner_id) : std::nullopt});
  }
  if (texts.empty()) return {};
  const std::string now = sql_common::now_expression(dialect);
  return sql_common::run_returning(
      session, texts,
      "INSERT INTO crm_task (recipienttransactionid, id, whoid, type, status, subject, ownerid, "
      "whatid, createddate, lastmodifieddate) SELECT cast(c0 as BIGINT), c1, c2, c3, c4, c5, c6, "
      "g.id, " +
          now + ", " + now + " FROM " + texts.as_table() +
          " JOIN crm_gift_record g ON g.recipienttransactionid = cast(c0 as BIGINT) WHERE true "
          "ON CONFLICT (recipienttransactionid) DO NOTHING RETURNING recipienttransactionid");
}

sql_common::TransactionIds complete_tasks(soci::session& session, sql::Dialect dialect,
                                          std::span<const TaskUpsert> rows,
                                          const sql_common::TransactionIds& created) {
  sql_common::TextRows texts(dialect, 2);
  for (const TaskUpsert& row : rows) {
    if (row.completed && !created.contains(row.transaction.value))
      texts.add({std::to_string(row.transaction.value), row.status});
  }
  if (texts.empty()) return {};
  return sql_common::run_returning(
      session, texts,
      "UPDATE crm_task SET status = c1, lastmodifieddate = " + sql_common::now_expression(dialect) +
          " FROM " + texts.as_table() +
          " WHERE crm_task.recipienttransactionid = cast(c0 as BIGINT) AND crm_task.status IS "
          "DISTINCT FROM c1 RETURNING recipienttransactionid");
}

std::vector<RowResult> write_tasks(soci::session& session, sql::Dialect dialect,
                                   std::span<const TaskUpsert> rows) {
  const sql_common::TransactionIds created = insert_tasks(session, dialect, rows);
  const sql_common::TransactionIds updated = complete_tasks(session, dialect, rows, created);
  std::vector<std::int64_t> ids;
  for (const TaskUpsert& row : rows) ids.push_back(row.transaction.value);
  const sql_common::TransactionIds known =
      sql_common::existing_transactions(session, dialect, "crm_task", ids);
  std::vector<RowResult> results;
  for (const TaskUpsert& row : rows) {
    const std::int64_t id = row.transaction.value;
    if (created.contains(id))
      results.push_back({Kind::created, {}});
    else if (updated.contains(id))
      results.push_back({Kind::updated, {}});
    else if (known.contains(id))
      results.push_back({Kind::unchanged, {}});
    else
      results.push_back({Kind::not_found, row.exists ? "the task was deleted in the CRM"
                                                     : "the task's gift record is not in the CRM"});
  }
  return results;
}

}  // namespace

std::vector<RowResult> ManagedTasks::upsert(std::span<const TaskUpsert> rows) {
  return sql_common::bisect_upsert(rows, [&](std::span<const TaskUpsert> some) {
    return database_.write(
        [&](soci::session& session) { return write_tasks(session, database_.dialect(), some); });
  });
}

std::vector<Task> ManagedTasks::page(TransactionId after, std::size_t limit) {
  return database_.read([&](soci::session& session) {
    std::vector<Task> tasks;
    Task task;
    soci::statement statement =
        sql::bound(session,
                   "SELECT id, recipienttransactionid, coalesce(whatid, ''), coalesce(whoid, ''), "
                   "coalesce(type, ''), coalesce(status, ''), coalesce(subject, ''), coalesce(ownerid, '') "
                   "FROM crm_task WHERE recipienttransactionid > :after ORDER BY recipienttransactionid "
                   "LIMIT " +
                       std::to_string(limit),
                   soci::into(task.id), soci::into(task.transaction), soci::into(task.what_id),
                   soci::into(task.who_id), soci::into(task.type), soci::into(task.status),
                   soci::into(task.subject), soci::into(task.owner_id), soci::use(after));
    sql::each_row(statement, [&] { tasks.push_back(task); });
    return tasks;
  });
}

}  // namespace giftsync::schema::crm::managed
