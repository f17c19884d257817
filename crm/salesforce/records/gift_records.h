// crm/salesforce: the gift records of an org. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "crm/gift_records.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/records/bare_writes.h"
#include "schema/enums.h"
#include "schema/gift_record.h"
#include "schema/ids.h"

namespace giftsync::salesforce {

class SalesforceGiftRecords : public crm::GiftRecords {
 public:
  /// All outlive this object. `has_tasks`: as of SalesforceTasks.
  SalesforceGiftRecords(OrgCalls& calls, const ApiNames& names, bool has_tasks, WriteControl control = {})
      : calls_(calls), names_(names), has_tasks_(has_tasks), control_(control) {}

  std::vector<crm::RowResult> upsert(std::span<const crm::GiftUpsert> rows) override;
  std::vector<crm::RowResult> relink(std::span<const crm::GiftRelink> rows) override;
  std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> links) override;
  std::vector<GiftRecord> find(std::span<const TransactionId> transactions) override;
  std::vector<GiftRecord> page(TransactionId after, std::size_t limit) override;
  std::vector<GiftRecord> page_in_status(Status status, TransactionId after, std::size_t limit) override;
  std::vector<TransactionId> transaction_ids_between(TransactionId from, TransactionId below,
                                                     std::size_t limit) override;
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override;
  std::vector<TransactionId> transaction_ids_by_email(const std::string& address) override;
  std::vector<TransactionId> transaction_ids_by_contact(const std::string& contact) override;
  /// Approximate: as the org counts for its limits.
  std::int64_t count() override;
  bool has_field(GiftField field) const override { return !names_.field(field).empty(); }
  FieldValue as_kept(GiftField field, FieldValue value) const override;
  std::vector<crm::GiftStatusTimes> find_status_times(std::span<const TransactionId> transactions) override;
  std::vector<TransactionId> fill_status_times(std::span<const crm::GiftStatusTimes> times) override;

 private:
  std::vector<TransactionId> transactions_of(const std::string& soql);
  /// Without the fields that the org does not show. `query` makes the statements with the names of the
  /// moment.
  std::vector<GiftRecord> records_of(const std::function<Query()>& query);
  std::vector<crm::RowResult> relink_some(std::span<const crm::GiftRelink> given);

  OrgCalls& calls_;
  const ApiNames& names_;
  const bool has_tasks_;
  const WriteControl control_;
};

}  // namespace giftsync::salesforce
