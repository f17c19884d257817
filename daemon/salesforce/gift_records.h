// daemon/salesforce: the gift records of an org. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/write_control.h"
#include "schema/crm/gift_records.h"
#include "schema/enums.h"
#include "schema/gift_record.h"
#include "schema/ids.h"

namespace giftsync::daemon::salesforce {

class SalesforceGiftRecords : public schema::crm::GiftRecords {
 public:
  /// All outlive this object. `has_tasks`: as of SalesforceTasks.
  SalesforceGiftRecords(OrgCalls& calls, const ApiNames& names, bool has_tasks, WriteControl control = {})
      : calls_(calls), names_(names), has_tasks_(has_tasks), control_(control) {}

  std::vector<schema::crm::RowResult> upsert(std::span<const schema::crm::GiftUpsert> rows) override;
  std::vector<schema::crm::RowResult> relink(std::span<const schema::crm::GiftRelink> rows) override;
  std::vector<std::vector<schema::GiftField>> missing_lookups(
      std::span<const schema::Associations> links) override;
  std::vector<schema::GiftRecord> find(std::span<const schema::TransactionId> transactions) override;
  std::vector<schema::GiftRecord> page(schema::TransactionId after, std::size_t limit) override;
  std::vector<schema::GiftRecord> page_in_status(schema::Status status, schema::TransactionId after,
                                                 std::size_t limit) override;
  std::vector<schema::TransactionId> transaction_ids_between(schema::TransactionId from,
                                                             schema::TransactionId below,
                                                             std::size_t limit) override;
  std::vector<schema::TransactionId> transaction_ids_below(schema::TransactionId below,
                                                           std::size_t limit) override;
  std::vector<schema::TransactionId> transaction_ids_by_email(const std::string& address) override;
  std::vector<schema::TransactionId> transaction_ids_by_contact(const std::string& contact) override;
  /// Approximate: as the org counts for its limits.
  std::int64_t count() override;
  bool has_field(schema::GiftField field) const override { return !names_.field(field).empty(); }
  schema::FieldValue as_kept(schema::GiftField field, schema::FieldValue value) const override;
  std::vector<schema::crm::GiftStatusTimes> find_status_times(
      std::span<const schema::TransactionId> transactions) override;
  std::vector<schema::TransactionId> fill_status_times(
      std::span<const schema::crm::GiftStatusTimes> times) override;

 private:
  std::vector<schema::TransactionId> transactions_of(const std::string& soql);
  /// Without the fields that the org does not show. `question` makes the statements with the names of the
  /// moment.
  std::vector<schema::GiftRecord> records_of(const std::function<Question()>& question);
  std::vector<schema::crm::RowResult> relink_some(std::span<const schema::crm::GiftRelink> given);

  OrgCalls& calls_;
  const ApiNames& names_;
  const bool has_tasks_;
  const WriteControl control_;
};

}  // namespace giftsync::daemon::salesforce
