// crm/sql/external: gift records in an external table, identified by their Transaction Id. A writer takes
// one lock over all of them and, under the lock, asks the store for the newest version: a daemon that resumes
// after a stall sees the newer version and writes nothing. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crm/gift_records.h"
#include "crm/sql/external/external_database.h"
#include "crm/sql/external/mapping.h"
#include "crm/sql/transaction_rows.h"

namespace giftsync::crm::external {

using NewestVersionsLookup = decltype(ExternalCrmOptions::newest_versions);

class ExternalGiftRecords : public GiftRecords {
 public:
  ExternalGiftRecords(ExternalDatabase& crm, NewestVersionsLookup newest_versions, bool has_tasks)
      : crm_(crm), newest_versions_(std::move(newest_versions)), has_tasks_(has_tasks) {}

  std::vector<RowResult> upsert(std::span<const GiftUpsert> rows) override;
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
  bool has_field(GiftField field) const override { return !crm_.mapping().gift_column(field).empty(); }
  std::vector<GiftStatusTimes> find_status_times(std::span<const TransactionId> transactions) override;
  std::vector<TransactionId> fill_status_times(std::span<const GiftStatusTimes> times) override;

 private:
  ExternalDatabase& crm_;
  const NewestVersionsLookup newest_versions_;
  const bool has_tasks_;
};

/// Lookups of new records whose targets do not exist are left empty and returned (SYNC-17); existing records
/// get no lookups.
std::vector<std::vector<GiftField>> clear_missing_lookups(soci::session& session, const MappedTables& tables,
                                                          std::vector<GiftUpsert>& rows);

std::vector<GiftRecord> gifts_of_transactions(soci::session& session, const MappedTables& tables,
                                              std::span<const TransactionId> transactions);

// SQL fragments for statements over external gift records. Included by this folder's
// .cpp files only.

inline constexpr const char* kGiftObject = "gift_record";
inline constexpr const char* kTransaction = "RecipientTransactionId";

/// "cast(expression as bigint)"
std::string as_integer(sql::Dialect dialect, const std::string& expression);

/// "cast(t.column as bigint)": replicated numbers are often double precision.
std::string transaction_of(const MappedTables& tables, const std::string& alias, const std::string& object);

/// The table of gift records or tasks. It uses the column unmodified, so that its index applies.
crm::sql_crm::TransactionTable transaction_table(const MappedTables& tables, const std::string& object);

std::string quoted_column(const MappedTables& tables, GiftField field);
/// A cell of the input rows, such as "c1", as a value of the field's column.
std::string cast_cell(const MappedTables& tables, const std::string& cell, GiftField field);

}  // namespace giftsync::crm::external
