#include "crm/sql/external/external_crm.h"

#include <algorithm>

#include "crm/row_reader.h"
#include "crm/sql/external/directory.h"
#include "crm/sql/external/external_database.h"
#include "crm/sql/external/gift_records.h"
#include "crm/sql/external/person_lookup.h"
#include "crm/sql/rows_by_key.h"
#include "crm/sql/table_rows.h"
#include "crm/sql/task_rows.h"
#include "crm/tasks.h"
#include "platform/text.h"
#include "schema/sql/query_watchdog.h"

namespace giftsync::crm::external {
namespace {

// Tasks in an external table, one per gift by RecipientTransactionId (SYNC-31).

constexpr const char* kTask = "task";

/// The fields that the CRM has, with their cells; WhatId is the gift record's Id.
struct Columns {
  std::string names;
  std::string values;
};
Columns written_columns(const MappedTables& tables, const std::vector<std::string>& more_fields) {
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
  for (const std::string& field : more_fields)
    add(field.c_str(), tables.cast(field == kTaskDescription ? "c7" : "c8", kTask, field));
  return columns;
}

std::string insert_statement(const MappedTables& tables, const std::vector<std::string>& more_fields,
                             const std::string& cells) {
  const Columns columns = written_columns(tables, more_fields);
  const std::string column = crm::sql_crm::quoted(tables.mapping().column_name(kTask, kTransaction));
  return "INSERT INTO " + tables.table(kTask) + " (" + columns.names + ") SELECT " + columns.values +
         " FROM " + cells + " JOIN " + tables.table(kGiftObject) + " g ON " +
         tables.column("g", kGiftObject, kTransaction) + " = " +
         tables.cast("c0", kGiftObject, kTransaction) + " WHERE " + tables.column("g", kGiftObject, "Id") +
         " IS NOT NULL AND " + tables.not_deleted("g", kGiftObject) + " ON CONFLICT (" + column +
         ") DO NOTHING RETURNING " + as_integer(tables.dialect(), column);
}

class ExternalTasks : public Tasks {
 public:
  /// Unless `enabled` the table may not be mapped: every row is `unchanged`, and there is no task.
  ExternalTasks(ExternalDatabase& crm, bool enabled, std::vector<std::string> more_fields)
      : crm_(crm), enabled_(enabled), more_fields_(std::move(more_fields)) {}

  std::vector<RowResult> upsert(std::span<const TaskUpsert> rows) override;
  std::vector<Task> page(TransactionId after, std::size_t limit) override;

 private:
  ExternalDatabase& crm_;
  const bool enabled_;
  const std::vector<std::string> more_fields_;
};

std::vector<RowResult> ExternalTasks::upsert(std::span<const TaskUpsert> rows) {
  // Tasks of gifts from when they were enabled.
  if (!enabled_) return std::vector<RowResult>(rows.size(), {RowResult::Kind::unchanged, {}, {}});
  return crm::sql_crm::bisect_upsert(rows, [&](std::span<const TaskUpsert> some) {
    return crm_.write([&](soci::session& session, const MappedTables& tables) {
      const crm::sql_crm::TaskTables written{
          transaction_table(tables, kTask),
          crm::sql_crm::quoted(tables.mapping().column_name(kTask, "Status")),
          [&](const std::string& cells) { return insert_statement(tables, more_fields_, cells); },
          transaction_table(tables, kGiftObject)};
      return crm::sql_crm::write_tasks(session, written, some, [&](const crm::sql_crm::RowIds& ids) {
        return missing_rows(session, tables, ids);
      });
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

/// Reads the rows of external tables through the mapped names, as far as the database user may.
class ExternalRowReader : public RowReader {
 public:
  ExternalRowReader(ExternalDatabase& crm, const ExternalCrmOptions& options);

  std::vector<std::string> objects() override;
  /// Gift records without an Id column are known by their Transaction Ids.
  std::vector<CrmRow> page(const std::string& object, const std::string& after, std::size_t limit) override;
  std::optional<CrmRow> find(const std::string& object, const std::string& id) override;

 private:
  std::optional<crm::sql_crm::TableToRead> table_of(soci::session& session, const MappedTables& tables,
                                                    const std::string& object) const;
  crm::sql_crm::FieldNames field_names(const std::string& object) const;

  ExternalDatabase& crm_;
  std::vector<std::pair<std::string, std::string>> named_fields_;  ///< object and field, of the settings
};

ExternalRowReader::ExternalRowReader(ExternalDatabase& crm, const ExternalCrmOptions& options) : crm_(crm) {
  for (const UsedField& used : used_fields(options)) named_fields_.emplace_back(used.object, used.field);
  for (const auto& [name, column] : options.names.columns) {
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos) named_fields_.emplace_back(name.substr(0, dot), name.substr(dot + 1));
  }
}

crm::sql_crm::FieldNames ExternalRowReader::field_names(const std::string& object) const {
  crm::sql_crm::FieldNames names;
  const auto add = [&](const std::string& field) {
    const std::string column = crm_.mapping().column_name(object, field);
    if (!column.empty()) names.try_emplace(ascii_lower(column), field);
  };
  add("Id");
  for (const auto& [of, field] : named_fields_) {
    if (of == object) add(field);
  }
  for (const std::string& field : crm::sql_crm::known_fields(object)) add(field);
  return names;
}

std::optional<crm::sql_crm::TableToRead> ExternalRowReader::table_of(soci::session& session,
                                                                     const MappedTables& tables,
                                                                     const std::string& object) const {
  const Mapping& mapping = crm_.mapping();
  const auto& objects = kExternalCrmObjects;
  if (std::find(objects.begin(), objects.end(), object) == objects.end() || !mapping.has(object)) return {};
  const bool sqlite = crm_.database().dialect() == sql::Dialect::sqlite;
  crm::sql_crm::TableToRead table;
  table.table = mapping.table(object);
  table.columns = crm::sql_crm::readable_columns(session, sqlite ? mapping.table_name(object) : table.table);
  table.field_names = field_names(object);
  table.condition = tables.not_deleted("t", object);
  for (const char* key : {"Id", "RecipientTransactionId"}) {
    const std::string column = ascii_lower(mapping.column_name(object, key));
    const auto found =
        std::find_if(table.columns.begin(), table.columns.end(),
                     [&](const crm::sql_crm::Column& one) { return ascii_lower(one.name) == column; });
    if (found == table.columns.end()) continue;
    table.key = *found;
    return table;
  }
  return {};
}

std::vector<std::string> ExternalRowReader::objects() {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    std::vector<std::string> found;
    for (const std::string& object : kReadableObjects) {
      if (table_of(session, tables, object)) found.push_back(object);
    }
    return found;
  });
}

std::vector<CrmRow> ExternalRowReader::page(const std::string& object, const std::string& after,
                                            std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const auto table = table_of(session, tables, object);
    return table ? crm::sql_crm::read_page(session, *table, after, limit) : std::vector<CrmRow>();
  });
}

std::optional<CrmRow> ExternalRowReader::find(const std::string& object, const std::string& id) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const auto table = table_of(session, tables, object);
    return table ? crm::sql_crm::read_row(session, *table, id) : std::nullopt;
  });
}

class ExternalCrm : public Crm {
 public:
  explicit ExternalCrm(const ExternalCrmOptions& options)
      : database_(options),
        directory_(database_, options.match_fields),
        gift_records_(database_, options.newest_versions, options.tasks),
        tasks_(database_, options.tasks, options.task_fields),
        rows_(database_, options),
        status_log_(database_.database(), options.status_log, crm::sql_crm::SqlStatusLog::Index::never) {}

  CrmPace pace() const override {
    return {.longest_call_millis = sql::QueryWatchdog::Limits{}.external_crm_millis};
  }
  Directory& directory() override { return directory_; }
  GiftRecords& gift_records() override { return gift_records_; }
  Tasks& tasks() override { return tasks_; }
  RowReader* rows() override { return &rows_; }
  LegacyStatusLog* legacy_status_log() override { return status_log_.exists() ? &status_log_ : nullptr; }

 private:
  ExternalDatabase database_;
  ExternalDirectory directory_;
  ExternalGiftRecords gift_records_;
  ExternalTasks tasks_;
  ExternalRowReader rows_;
  crm::sql_crm::SqlStatusLog status_log_;
};

}  // namespace

std::unique_ptr<Crm> make_external_crm(const ExternalCrmOptions& options) {
  return std::make_unique<ExternalCrm>(options);
}

}  // namespace giftsync::crm::external
