#include "crm/sql/external/external_crm.h"

#include "crm/sql/external/directory.h"
#include "crm/sql/external/gift_records.h"
#include "crm/sql/external/row_reader.h"
#include "crm/sql/external/tasks.h"
#include "crm/sql/status_log.h"
#include "schema/sql/query_watchdog.h"

namespace giftsync::crm::external {
namespace {

class ExternalCrm : public Crm {
 public:
  explicit ExternalCrm(const ExternalCrmOptions& options)
      : database_(options),
        directory_(database_, options.match_fields),
        gift_records_(database_, options.newest_versions, options.tasks),
        tasks_(database_, options.tasks),
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
