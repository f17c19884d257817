// crm/sql/managed: gift records in crm_gift_record: upserted by Transaction Id, newer versions over
// older ones only, and read. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crm/gift_records.h"
#include "schema/sql/database.h"

namespace giftsync::crm::managed {

class ManagedGiftRecords : public GiftRecords {
 public:
  /// `name_space` is for the API names in reasons.
  ManagedGiftRecords(sql::Database& database, std::string name_space)
      : database_(database), name_space_(std::move(name_space)) {}

  /// Writes all rows in one transaction with a few statements, without lookups whose targets do not exist;
  /// when a row violates a constraint, bisects the rows until the bad row is isolated.
  std::vector<RowResult> upsert(std::span<const GiftUpsert> rows) override;
  /// In one transaction.
  std::vector<RowResult> relink(std::span<const GiftRelink> rows) override;
  std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> links) override;
  std::vector<GiftRecord> find(std::span<const TransactionId> transactions) override;
  std::vector<GiftRecord> page(TransactionId after, std::size_t limit) override;
  std::vector<GiftRecord> page_in_status(Status status, TransactionId after, std::size_t limit) override;
  std::vector<TransactionId> transaction_ids_between(TransactionId from, TransactionId below,
                                                     std::size_t limit) override;
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override;
  std::vector<TransactionId> transaction_ids_by_email(const std::string& address) override;
  std::vector<TransactionId> transaction_ids_by_contact(const std::string& contact) override;
  std::int64_t count() override;
  /// Without the other columns.
  std::vector<GiftStatusTimes> find_status_times(std::span<const TransactionId> transactions) override;
  /// In one transaction.
  std::vector<TransactionId> fill_status_times(std::span<const GiftStatusTimes> times) override;

 private:
  sql::Database& database_;
  const std::string name_space_;
};

}  // namespace giftsync::crm::managed
