#include "daemon/salesforce/salesforce_crm.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "daemon/salesforce/directory.h"
#include "daemon/salesforce/gift_records.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/request_records.h"
#include "daemon/salesforce/row_reader.h"
#include "daemon/salesforce/statements.h"
#include "daemon/salesforce/tasks.h"
#include "daemon/salesforce/write_control.h"

namespace giftsync::daemon::salesforce {
namespace {

ApiNames names_of(const SalesforceCrmOptions& options) {
  ApiNames names = options.names;
  // Nothing in the org compares it.
  if (options.bare) names.leave_out(OwnField::record_version);
  return names;
}

class SalesforceCrm : public schema::crm::Crm {
 public:
  SalesforceCrm(ApiClient& client, SalesforceCrmOptions options)
      : org_names_(options.names),
        names_(names_of(options)),
        calls_(client, std::move(options.api_version), options.governor, options.clock,
               std::move(options.governor_storage)),
        control_(make_control(options)),
        directory_(calls_, names_, std::move(options.match_fields)),
        gift_records_(calls_, names_, options.has_tasks, control_),
        tasks_(calls_, names_, options.has_tasks, control_),
        rows_(calls_, names_),
        status_log_(calls_, std::move(options.status_log)) {
    if (options.request_records)
      request_records_.emplace(calls_, names_, std::move(*options.request_records), std::move(options.clock));
  }

  /// One writer: two would wait for each other's locks on accounts.
  schema::crm::CrmPace pace() const override {
    return {calls_.rows_per_call(), kPageRows, kLongestCallMillis, 1};
  }
  std::optional<schema::crm::CrmUsage> usage() const override { return calls_.usage(); }
  void require_spare_calls() override { calls_.require_spare_calls(); }
  schema::crm::Directory& directory() override { return directory_; }
  schema::crm::GiftRecords& gift_records() override { return gift_records_; }
  schema::crm::Tasks& tasks() override { return tasks_; }
  schema::crm::RequestRecords* request_records() override {
    return request_records_ ? &*request_records_ : nullptr;
  }
  schema::crm::RowReader* rows() override { return &rows_; }
  schema::crm::LegacyStatusLog* legacy_status_log() override {
    return status_log_.exists() ? &status_log_ : nullptr;
  }

 private:
  WriteControl make_control(SalesforceCrmOptions& options) {
    WriteControl control;
    if (options.mode_facts)
      control.modes = &modes_.emplace(calls_, org_names_, options.bare ? OrgMode::bare : OrgMode::guarded,
                                      std::move(*options.mode_facts), options.clock);
    if (options.bare) {
      control.bare = &bare_.emplace(std::move(*options.bare), options.clock);
      calls_.set_write_gate(control.bare);
    }
    return control;
  }

  const ApiNames org_names_;  // with giftsync's own fields
  const ApiNames names_;
  OrgCalls calls_;
  std::optional<ModeWatch> modes_;
  std::optional<BareWrites> bare_;
  const WriteControl control_;
  SalesforceDirectory directory_;
  SalesforceGiftRecords gift_records_;
  SalesforceTasks tasks_;
  SalesforceRowReader rows_;
  SalesforceStatusLog status_log_;
  std::optional<SalesforceRequestRecords> request_records_;
};

}  // namespace

std::unique_ptr<schema::crm::Crm> make_salesforce_crm(ApiClient& client, SalesforceCrmOptions options) {
  return std::make_unique<SalesforceCrm>(client, std::move(options));
}

}  // namespace giftsync::daemon::salesforce
