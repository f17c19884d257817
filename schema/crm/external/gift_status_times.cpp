// schema/crm/external: reads the status timestamps of gift records, and fills missing ones.
#include "schema/crm/external/gift_records.h"
#include "schema/crm/external/gift_sql.h"
#include "schema/crm/sql_common/transaction_rows.h"

namespace giftsync::schema::crm::external {
namespace {

/// Each time only where the record has none at that moment.
sql_common::TransactionIds fill(soci::session& session, const MappedTables& tables, Status status,
                                std::span<const GiftStatusTimes> times) {
  const GiftField field = time_field_of(status);
  if (tables.mapping().gift_column(field).empty()) return {};
  sql_common::TextRows texts(tables.dialect(), 2);
  for (const GiftStatusTimes& row : times) {
    if (row.times[status])
      texts.add({std::to_string(row.transaction.value), platform::to_rfc3339(*row.times[status])});
  }
  const std::string column = quoted_column(tables, field);
  return sql_common::update_rows(session, transaction_table(tables, kGiftObject), texts,
                                 column + " = " + cast_cell(tables, "c1", field), "t." + column + " IS NULL");
}

}  // namespace

std::vector<GiftStatusTimes> ExternalGiftRecords::find_status_times(
    std::span<const TransactionId> transactions) {
  std::vector<GiftStatusTimes> found;
  for (const GiftRecord& record : find(transactions)) {
    GiftStatusTimes& row = found.emplace_back(GiftStatusTimes{record.transaction(), {}});
    for (const Status status : kAllStatuses) {
      const FieldValue& value = record.get(time_field_of(status));
      if (const auto* time = std::get_if<platform::UtcMillis>(&value)) row.times[status] = *time;
    }
  }
  return found;
}

std::vector<TransactionId> ExternalGiftRecords::fill_status_times(std::span<const GiftStatusTimes> times) {
  const sql_common::TransactionIds filled =
      crm_.write([&](soci::session& session, const MappedTables& tables) {
        sql_common::TransactionIds all;
        for (const Status status : kAllStatuses) all.merge(fill(session, tables, status, times));
        return all;
      });
  std::vector<TransactionId> ids;
  for (const std::int64_t id : filled) ids.push_back({id});
  return ids;
}

}  // namespace giftsync::schema::crm::external
