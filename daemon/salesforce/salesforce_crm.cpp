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

namespace giftsync::daemon::salesforce {
namespace {

constexpr std::int64_t kLongestCallMillis = 120'000;

class SalesforceCrm : public schema::crm::Crm {
 public:
  SalesforceCrm(ApiClient& client, SalesforceCrmOptions options)
      : names_(std::move(options.names)),
        calls_(client, std::move(options.api_version), options.governor, options.clock,
               std::move(options.governor_storage)),
        directory_(calls_, names_, std::move(options.match_fields)),
        gift_records_(calls_, names_),
        tasks_(calls_, names_, options.has_tasks),
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
  const ApiNames names_;
  OrgCalls calls_;
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
