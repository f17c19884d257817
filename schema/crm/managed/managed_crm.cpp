#include "schema/crm/managed/managed_crm.h"

#include "schema/crm/managed/directory.h"
#include "schema/crm/managed/gift_records.h"
#include "schema/crm/managed/match_columns.h"
#include "schema/crm/managed/request_records.h"
#include "schema/crm/managed/tasks.h"
#include "schema/crm/sql_common/status_log.h"

namespace giftsync::schema::crm::managed {
namespace {

/// Some ten milliseconds of SQLite's write lock. More than other CRMs take, because the cost of a call is its
/// commit.
constexpr std::size_t kRowsPerWrite = 1000;

class ManagedCrm : public Crm {
 public:
  explicit ManagedCrm(const ManagedCrmOptions& options)
      : database_(sql::Database::shared(options.database)),
        directory_(*database_, options.match_fields),
        gift_records_(*database_, options.name_space),
        tasks_(*database_),
        request_records_(*database_, options.integration_user),
        status_log_(*database_, options.status_log, sql_common::SqlStatusLog::Index::may_be_created) {}

  CrmPace pace() const override { return {.rows_per_write = kRowsPerWrite}; }
  Directory& directory() override { return directory_; }
  GiftRecords& gift_records() override { return gift_records_; }
  Tasks& tasks() override { return tasks_; }
  RequestRecords* request_records() override { return &request_records_; }
  LegacyStatusLog* legacy_status_log() override { return status_log_.exists() ? &status_log_ : nullptr; }

 private:
  const std::shared_ptr<sql::Database> database_;
  ManagedDirectory directory_;
  ManagedGiftRecords gift_records_;
  ManagedTasks tasks_;
  ManagedRequestRecords request_records_;
  sql_common::SqlStatusLog status_log_;
};

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

}  // namespace giftsync::schema::crm::managed
