#include "schema/crm/external/external_crm.h"

#include "schema/crm/external/directory.h"
#include "schema/crm/external/gift_records.h"
#include "schema/crm/external/row_reader.h"
#include "schema/crm/external/tasks.h"
#include "schema/crm/sql_common/status_log.h"
#include "schema/sql/query_watchdog.h"

namespace giftsync::schema::crm::external {
namespace {

class ExternalCrm : public Crm {
 public:
  explicit ExternalCrm(const ExternalCrmOptions& options)
      : database_(options),
        directory_(database_, options.match_fields),
        gift_records_(database_, options.newest_versions, options.tasks),
        tasks_(database_, options.tasks),
        rows_(database_, options),
        status_log_(database_.database(), options.status_log, sql_common::SqlStatusLog::Index::never) {}

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
  sql_common::SqlStatusLog status_log_;
};

}  // namespace

std::unique_ptr<Crm> make_external_crm(const ExternalCrmOptions& options) {
  return std::make_unique<ExternalCrm>(options);
}

}  // namespace giftsync::schema::crm::external
