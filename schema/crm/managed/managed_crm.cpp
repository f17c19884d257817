#include "schema/crm/managed/managed_crm.h"

#include <algorithm>

#include "platform/text.h"
#include "schema/crm/managed/directory.h"
#include "schema/crm/managed/gift_records.h"
#include "schema/crm/managed/match_columns.h"
#include "schema/crm/managed/request_records.h"
#include "schema/crm/managed/row_reader.h"
#include "schema/crm/managed/tasks.h"
#include "schema/crm/row_import.h"
#include "schema/crm/sql_common/status_log.h"
#include "schema/crm/sql_common/text_numbers.h"

namespace giftsync::schema::crm::managed {
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
        status_log_(*database_, options.status_log, sql_common::SqlStatusLog::Index::may_be_created) {}

  CrmPace pace() const override { return {.rows_per_write = kRowsPerWrite}; }
  Directory& directory() override { return directory_; }
  GiftRecords& gift_records() override { return gift_records_; }
  Tasks& tasks() override { return tasks_; }
  RequestRecords* request_records() override { return &request_records_; }
  RowReader* rows() override { return &rows_; }
  LegacyStatusLog* legacy_status_log() override { return status_log_.exists() ? &status_log_ : nullptr; }

 private:
  const std::shared_ptr<sql::Database> database_;
  ManagedDirectory directory_;
  ManagedGiftRecords gift_records_;
  ManagedTasks tasks_;
  ManagedRequestRecords request_records_;
  ManagedRowReader rows_;
  sql_common::SqlStatusLog status_log_;
};

bool is_standard(const std::string& object, const std::string& column) {
  const std::vector<std::string> names = standard_columns(*parse_import_object(object));
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return platform::ascii_lower(name) == column; });
}

/// Empty unless the column orders numbers as text.
std::string order_warning(soci::session& session, const std::string& object, const OrderBy& order_by,
                          const sql_common::Column& column) {
  if (column.name.empty() || !sql_common::is_ordered_as_text(column)) return {};
  const sql_common::TextNumbers found =
      sql_common::read_text_numbers(session, "crm_" + object, "id", sql_common::quoted(column.name));
  if (!found.are_mostly_numbers()) return {};
  const std::string fault = sql_common::text_order_sentence("matching." + object + ".order_by.field",
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
      const auto columns =
          find_person_match_columns(session, database.dialect(), object, options.match_fields);
      faults.insert(faults.end(), columns.faults.begin(), columns.faults.end());
    }
    if (options.match_fields.opportunity.enabled) {
      const auto columns = find_opportunity_order_column(session, database.dialect(), options.match_fields);
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
    const auto check = [&](const std::string& object, const OrderBy& by, const sql_common::Column& column) {
      if (std::string warning = order_warning(session, object, by, column); !warning.empty())
        warnings.push_back(std::move(warning));
    };
    for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
      const auto columns = find_person_match_columns(session, database.dialect(), object, fields);
      check(columns.object, match_fields_of(object, fields).order_by, columns.order_by);
    }
    if (fields.opportunity.enabled) {
      const auto columns = find_opportunity_order_column(session, database.dialect(), fields);
      check("opportunity", fields.opportunity.order_by, columns.order_by);
    }
    return warnings;
  });
}

}  // namespace giftsync::schema::crm::managed
