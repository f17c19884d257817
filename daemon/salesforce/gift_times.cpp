// daemon/salesforce: reads the status times of gift records, and fills missing ones. A record that giftsync
// writes meanwhile refuses the older version; it is read once more.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/salesforce/gift_records.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/row_writes.h"
#include "daemon/salesforce/statements.h"
#include "platform/logging.h"
#include "platform/visible_text.h"

namespace giftsync::daemon::salesforce {
namespace {

using schema::GiftRecord;
using schema::Status;
using schema::StatusTimes;
using schema::TransactionId;
using schema::crm::GiftStatusTimes;
using Read = ReadRecord<GiftRecord>;

constexpr int kRounds = 3;

StatusTimes times_of(const GiftRecord& record) {
  StatusTimes times;
  for (const Status status : schema::kAllStatuses) {
    if (const auto* time = std::get_if<platform::UtcMillis>(&record.get(schema::time_field_of(status))))
      times[status] = *time;
  }
  return times;
}

std::vector<Read> read_times(OrgCalls& calls, const ApiNames& names,
                             std::span<const TransactionId> transactions) {
  std::vector<Read> found;
  const auto statements = [&](std::span<const TransactionId> some) {
    return gift_times_by_transaction(names, some);
  };
  each_row(calls, question_of(transactions, statements), Spending::backfill,
           [&](const platform::JsonValue& row) {
             Read read = read_gift(names, row);
             if (std::holds_alternative<std::int64_t>(read.record.get(schema::GiftField::transaction_id)))
               found.push_back(std::move(read));
           });
  return found;
}

/// What the record does not have; nothing where it has all.
std::optional<StatusTimes> missing_times(const ApiNames& names, const GiftRecord& record,
                                         const StatusTimes& wanted) {
  const StatusTimes known = times_of(record);
  StatusTimes missing;
  bool is_any_missing = false;
  for (const Status status : schema::kAllStatuses) {
    if (!wanted[status] || known[status] || names.field(schema::time_field_of(status)).empty()) continue;
    missing[status] = wanted[status];
    is_any_missing = true;
  }
  return is_any_missing ? std::optional(missing) : std::nullopt;
}

void log_refused(std::int64_t count, const std::string& first) {
  if (count == 0) return;
  const std::string reason = platform::visible_text(first);
  const std::array<platform::LogField, 2> fields{
      {{"gift_records", count}, {"first", std::string_view(reason)}}};
  platform::log_warning("Salesforce did not take times of gift records", fields);
}

/// Moves what was written to `filled`, and returns what to read again.
std::vector<TransactionId> write_missing(OrgCalls& calls, const ApiNames& names,
                                         const std::map<TransactionId, StatusTimes>& wanted,
                                         const std::vector<Read>& records,
                                         std::vector<TransactionId>& filled) {
  std::vector<WriteRow> rows;
  std::vector<TransactionId> ids;
  for (const Read& read : records) {
    const TransactionId id = read.record.transaction();
    const auto times = missing_times(names, read.record, wanted.at(id));
    if (!times) continue;
    rows.push_back({Operation::update, gift_times_row(names, read.id, *times, read.record.version)});
    ids.push_back(id);
  }
  std::vector<TransactionId> again;
  std::int64_t refused = 0;
  std::string first_refusal;
  const std::vector<RowWrite> writes = write_rows(calls, rows, Spending::backfill);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const RowAnswer& answer = writes[i].answer;
    if (answer.is_answered && answer.written.is_success) {
      filled.push_back(ids[i]);
      continue;
    }
    const ApiError error = answer.written.errors.empty() ? ApiError{} : answer.written.errors.front();
    if (!answer.is_answered || classify(error, answer.context({})) == ErrorClass::older_version) {
      again.push_back(ids[i]);
      continue;
    }
    if (refused++ == 0)
      first_refusal = fmt::format("gift {}: {}: {}", ids[i].value, error.code, error.message);
  }
  log_refused(refused, first_refusal);
  return again;
}

}  // namespace

std::vector<GiftStatusTimes> SalesforceGiftRecords::find_status_times(
    std::span<const TransactionId> transactions) {
  std::vector<GiftStatusTimes> found;
  for (const Read& read : read_times(calls_, names_, transactions))
    found.push_back({read.record.transaction(), times_of(read.record)});
  return found;
}

std::vector<TransactionId> SalesforceGiftRecords::fill_status_times(std::span<const GiftStatusTimes> times) {
  std::map<TransactionId, StatusTimes> wanted;
  for (const GiftStatusTimes& one : times) wanted.emplace(one.transaction, one.times);
  std::vector<TransactionId> pending;
  for (const auto& [id, some] : wanted) pending.push_back(id);
  std::vector<TransactionId> filled;
  for (int i = 0; i < kRounds && !pending.empty(); ++i) {
    const std::vector<Read> records = read_times(calls_, names_, pending);
    pending = write_missing(calls_, names_, wanted, records, filled);
  }
  return filled;
}

}  // namespace giftsync::daemon::salesforce
