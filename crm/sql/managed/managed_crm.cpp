#include "crm/sql/managed/managed_crm.h"

#include <algorithm>

#include "crm/row_import.h"
#include "crm/sql/managed/directory.h"
#include "crm/sql/managed/gift_records.h"
#include "crm/sql/managed/gift_table.h"
#include "crm/sql/managed/match_columns.h"
#include "crm/sql/managed/person_rows.h"
#include "crm/sql/managed/request_records.h"
#include "crm/sql/rows_by_key.h"
#include "crm/sql/table_rows.h"
#include "crm/sql/task_rows.h"
#include "platform/text.h"

namespace giftsync::crm::managed {
namespace {

/// Some ten milliseconds of SQLite's write lock. More than other CRMs take, because the cost of a call is its
/// commit.
constexpr std::size_t kRowsPerWrite = 1000;

class ManagedCrm : public Crm {
 public:
  explicit ManagedCrm(const ManagedCrmOptions& options)
      : database_(sql::Database::shared(options.database)),
        directory_(*database_, options.match_fields, options.max_keyed_rows),
        gift_records_(*database_, options.name_space),
        tasks_(*database_),
        request_records_(*database_, options.integration_user),
        rows_(*database_),
        person_rows_(*database_),
        status_log_(*database_, options.status_log, crm::sql_crm::SqlStatusLog::Index::may_be_created) {}

  CrmPace pace() const override { return {.rows_per_write = kRowsPerWrite}; }
  Directory& directory() override { return directory_; }
  GiftRecords& gift_records() override { return gift_records_; }
  Tasks& tasks() override { return tasks_; }
  RequestRecords* request_records() override { return &request_records_; }
  RowReader* rows() override { return &rows_; }
  PersonRows* person_rows() override { return &person_rows_; }
  LegacyStatusLog* legacy_status_log() override { return status_log_.exists() ? &status_log_ : nullptr; }

 private:
  const std::shared_ptr<sql::Database> database_;
  ManagedDirectory directory_;
  ManagedGiftRecords gift_records_;
  ManagedTasks tasks_;
  ManagedRequestRecords request_records_;
  ManagedRowReader rows_;
  ManagedPersonRows person_rows_;
  crm::sql_crm::SqlStatusLog status_log_;
};

bool is_standard(const std::string& object, const std::string& column) {
  const std::vector<std::string> names = standard_columns(*parse_import_object(object));
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return ascii_lower(name) == column; });
}

/// Empty unless the column orders numbers as text.
std::string order_warning(soci::session& session, const std::string& object, const OrderBy& order_by,
                          const crm::sql_crm::Column& column) {
  if (column.name.empty() || !crm::sql_crm::is_ordered_as_text(column)) return {};
  const crm::sql_crm::TextNumbers found =
      crm::sql_crm::read_text_numbers(session, "crm_" + object, "id", crm::sql_crm::quoted(column.name));
  if (!found.are_mostly_numbers()) return {};
  const std::string fault = crm::sql_crm::text_order_sentence("matching." + object + ".order_by.field",
                                                              order_by.field, object, found);
  if (is_standard(object, column.name)) return fault + "; order by a custom field with numbers only";
  return fault + (found.other_id.empty() ? "; import" : "; correct that value and import") +
         " the field again with giftsyncctl crm import --object " + object +
         ": it is a number once all its values are";
}

}  // namespace

std::unique_ptr<Crm> make_managed_crm(const ManagedCrmOptions& options) {
  return std::make_unique<ManagedCrm>(options);
}

std::vector<std::string> match_field_faults(const ManagedCrmOptions& options) {
  sql::Database database(options.database);
  return database.read([&](soci::session& session) {
    std::vector<std::string> faults;
    for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
      const auto columns = find_person_match_columns(session, object, options.match_fields);
      faults.insert(faults.end(), columns.faults.begin(), columns.faults.end());
    }
    if (options.match_fields.opportunity.enabled) {
      const auto columns = find_opportunity_order_column(session, options.match_fields);
      faults.insert(faults.end(), columns.faults.begin(), columns.faults.end());
    }
    return faults;
  });
}

std::vector<std::string> match_order_warnings(const ManagedCrmOptions& options) {
  const MatchFields& fields = options.match_fields;
  sql::Database database(options.database);
  return database.read([&](soci::session& session) {
    std::vector<std::string> warnings;
    const auto check = [&](const std::string& object, const OrderBy& by, const crm::sql_crm::Column& column) {
      if (std::string warning = order_warning(session, object, by, column); !warning.empty())
        warnings.push_back(std::move(warning));
    };
    for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
      const auto columns = find_person_match_columns(session, object, fields);
      check(columns.object, match_fields_of(object, fields).order_by, columns.order_by);
    }
    if (fields.opportunity.enabled) {
      const auto columns = find_opportunity_order_column(session, fields);
      check("opportunity", fields.opportunity.order_by, columns.order_by);
    }
    return warnings;
  });
}

namespace {

/// giftsync's own columns, which are no fields of the object.
bool is_internal(const std::string& column) {
  return column == "record_version" || column == "claimed" || column == "creation_key";
}

/// Without columns when there is no such object.
crm::sql_crm::TableToRead table_of(soci::session& session, const std::string& object) {
  crm::sql_crm::TableToRead table{"crm_" + object, {"id", crm::sql_crm::ColumnType::text, "text"}, {}, {}};
  if (std::find(kReadableObjects.begin(), kReadableObjects.end(), object) == kReadableObjects.end())
    return table;
  table.columns = crm::sql_crm::readable_columns(session, table.table);
  std::erase_if(table.columns, [](const crm::sql_crm::Column& column) { return is_internal(column.name); });
  if (const crm::sql_crm::Column* mark = crm::sql_crm::find_column(table.columns, "isdeleted"))
    table.condition = crm::sql_crm::not_deleted_condition(session, "t.isdeleted", mark->type);
  table.field_names["id"] = "Id";
  for (const std::string& field : crm::sql_crm::known_fields(object))
    table.field_names[ascii_lower(field)] = field;
  return table;
}

}  // namespace

std::vector<CrmRow> ManagedRowReader::page(const std::string& object, const std::string& after,
                                           std::size_t limit) {
  return database_.read([&](soci::session& session) {
    const crm::sql_crm::TableToRead table = table_of(session, object);
    return table.columns.empty() ? std::vector<CrmRow>()
                                 : crm::sql_crm::read_page(session, table, after, limit);
  });
}

std::optional<CrmRow> ManagedRowReader::find(const std::string& object, const std::string& id) {
  return database_.read([&](soci::session& session) {
    const crm::sql_crm::TableToRead table = table_of(session, object);
    return table.columns.empty() ? std::nullopt : crm::sql_crm::read_row(session, table, id);
  });
}

std::vector<RowResult> ManagedTasks::upsert(std::span<const TaskUpsert> rows) {
  const sql::Dialect dialect = database_.dialect();
  const std::string now = crm::sql_crm::now_expression(dialect);
  const std::string date = dialect == sql::Dialect::sqlite ? "c8" : "cast(c8 as DATE)";
  const auto insert = [&](const std::string& cells) {
    return "INSERT INTO crm_task (recipienttransactionid, id, whoid, type, status, subject, ownerid, "
           "description, activitydate, whatid, createddate, lastmodifieddate) SELECT cast(c0 as BIGINT), c6, "
           "c1, c2, c3, c4, c5, c7, " +
           date + ", g.id, " + now + ", " + now + " FROM " + cells +
           " JOIN crm_gift_record g ON g.recipienttransactionid = cast(c0 as BIGINT) WHERE true ON CONFLICT "
           "(recipienttransactionid) DO NOTHING RETURNING recipienttransactionid";
  };
  const crm::sql_crm::TaskTables tables{transaction_table(dialect, "crm_task"), "status", insert,
                                        std::nullopt};
  return crm::sql_crm::bisect_upsert(rows, [&](std::span<const TaskUpsert> some) {
    return database_.write([&](soci::session& session) {
      return crm::sql_crm::write_tasks(session, tables, some, [&](const crm::sql_crm::RowIds& ids) {
        return crm::sql_crm::missing_rows(session, ids);
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

}  // namespace giftsync::crm::managed
