#include "schema/crm/managed/tasks.h"

#include "schema/crm/managed/gift_table.h"
#include "schema/crm/sql_common/bisect_upsert.h"
#include "schema/crm/sql_common/task_rows.h"

namespace giftsync::schema::crm::managed {

std::vector<RowResult> ManagedTasks::upsert(std::span<const TaskUpsert> rows) {
  const sql::Dialect dialect = database_.dialect();
  const std::string now = sql_common::now_expression(dialect);
  const auto insert = [&](const std::string& cells) {
    return "INSERT INTO crm_task (recipienttransactionid, id, whoid, type, status, subject, ownerid, whatid, "
           "createddate, lastmodifieddate) SELECT cast(c0 as BIGINT), c6, c1, c2, c3, c4, c5, g.id, " +
           now + ", " + now + " FROM " + cells +
           " JOIN crm_gift_record g ON g.recipienttransactionid = cast(c0 as BIGINT) WHERE true ON CONFLICT "
           "(recipienttransactionid) DO NOTHING RETURNING recipienttransactionid";
  };
  const sql_common::TaskTables tables{transaction_table(dialect, "crm_task"), "status", insert, std::nullopt};
  return sql_common::bisect_upsert(rows, [&](std::span<const TaskUpsert> some) {
    return database_.write([&](soci::session& session) {
      return sql_common::write_tasks(session, dialect, tables, some, [&](const sql_common::RowIds& ids) {
        return sql_common::missing_rows(session, dialect, ids);
      });
    });
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
