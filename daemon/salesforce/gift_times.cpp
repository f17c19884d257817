// daemon/salesforce: reads the status times of gift records, and fills missing ones. A record that giftsync
// writes meanwhile refuses the older version; it is read once more. In bare mode the record must be
// unmodified since it was read, and giftsync itself does not write it meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/salesforce/gift_records.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/row_writes.h"
#include "daemon/salesforce/statements.h"
#include "daemon/salesforce/unmodified_patch.h"
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
constexpr std::size_t kRowsPerRound = 2000;

StatusTimes times_of(const GiftRecord& record) {
  StatusTimes times;
  for (const Status status : schema::kAllStatuses) {
    if (const auto* time = std::get_if<platform::UtcMillis>(&record.get(schema::time_field_of(status))))
      times[status] = *time;
  }
  return times;
}

using Wanted = std::map<TransactionId, StatusTimes>;

struct ReadTimes {
  std::vector<Read> found;
  platform::UtcMillis read_at;  ///< by the org's clock
};

ReadTimes read_times(OrgCalls& calls, const ApiNames& names, std::span<const TransactionId> transactions) {
  const Question question = question_of(transactions, [&](std::span<const TransactionId> some) {
    return gift_times_by_transaction(names, some);
  });
  const Answers answers = ask(calls, std::span(&question, 1), Spending::backfill);
  ReadTimes times{{}, answers.as_of.value_or(platform::UtcMillis{0})};
  for (const platform::JsonValue* row : answers.of_question.front().rows) {
    Read read = read_gift(names, *row);
    if (std::holds_alternative<std::int64_t>(read.record.get(schema::GiftField::transaction_id)))
      times.found.push_back(std::move(read));
  }
  return times;
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

/// Records that did not take their times.
struct Refused {
  std::int64_t count = 0;
  std::string first = {};

  void add(TransactionId id, const ApiError& error) {
    if (count++ == 0) first = fmt::format("gift {}: {}: {}", id.value, error.code, error.message);
  }
  void log() const {
    if (count == 0) return;
    const std::string reason = platform::visible_text(first);
    const std::array<platform::LogField, 2> fields{
        {{"gift_records", count}, {"first", std::string_view(reason)}}};
    platform::log_warning("Salesforce did not take times of gift records", fields);
  }
};

/// Moves what was written to `filled`, and returns what to read again.
std::vector<TransactionId> write_missing(OrgCalls& calls, const ApiNames& names, const Wanted& wanted,
                                         const ReadTimes& records, std::vector<TransactionId>& filled) {
  std::vector<WriteRow> rows;
  std::vector<TransactionId> ids;
  for (const Read& read : records.found) {
    const TransactionId id = read.record.transaction();
    const auto times = missing_times(names, read.record, wanted.at(id));
    if (!times) continue;
    rows.push_back({Operation::update, gift_times_row(names, read.id, *times, read.record.version)});
    ids.push_back(id);
  }
  std::vector<TransactionId> again;
  Refused refused;
  const std::vector<RowWrite> writes = write_rows(calls, rows, Spending::backfill);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const RowAnswer& answer = writes[i].answer;
    if (answer.is_answered && answer.written.is_success) {
      filled.push_back(ids[i]);
      continue;
    }
    const ApiError error = first_error(answer.written.errors);
    if (!answer.is_answered || classify(error, answer.context({})) == ErrorClass::older_version) {
      again.push_back(ids[i]);
      continue;
    }
    refused.add(ids[i], error);
  }
  refused.log();
  return again;
}

/// The org compares whole seconds: a record that was edited a moment ago is read again later.
bool is_quiet(const Read& read, platform::UtcMillis read_at) {
  const std::optional<platform::UtcMillis> edited = read_time(read.last_modified);
  return edited && edited->value <= read_at.value - kQuietMillis;
}

/// write_missing() without a version: single updates of records that are as they were read.
std::vector<TransactionId> write_missing_unmodified(OrgCalls& calls, const ApiNames& names,
                                                    const Wanted& wanted, const ReadTimes& records,
                                                    std::vector<TransactionId>& filled) {
  std::vector<PartRequest> parts;
  std::vector<TransactionId> ids;
  std::vector<TransactionId> again;
  for (const Read& read : records.found) {
    const TransactionId id = read.record.transaction();
    const auto times = missing_times(names, read.record, wanted.at(id));
    if (!times) continue;
    if (!is_quiet(read, records.read_at)) {
      again.push_back(id);
      continue;
    }
    parts.push_back(unmodified_part({.api_version = calls.api_version(),
                                     .object = names.object("gift_record"),
                                     .id = read.id,
                                     .last_modified = read.last_modified,
                                     .reference = fmt::format("t{}", ids.size()),
                                     .body = gift_times_row(names, "", *times, 0)}));
    ids.push_back(id);
  }
  Refused refused;
  write_parts(calls, parts, Spending::backfill,
              [&](std::size_t at, const CompositePart* part, const std::string&) {
                if (part == nullptr || part->status == kPreconditionFailed)
                  again.push_back(ids[at]);
                else if (is_success(part->status))
                  filled.push_back(ids[at]);
                else
                  refused.add(ids[at], first_error(request_errors(*part->body)));
              });
  refused.log();
  return again;
}

/// Each round has a turn of its own: in bare mode others write between them.
void fill_some(OrgCalls& calls, const ApiNames& names, const WriteControl& control,
               std::span<const GiftStatusTimes> times, std::vector<TransactionId>& filled) {
  const bool is_bare = control.bare != nullptr;
  const auto write = is_bare ? write_missing_unmodified : write_missing;
  Wanted wanted;
  for (const GiftStatusTimes& one : times) wanted.emplace(one.transaction, one.times);
  std::vector<TransactionId> pending;
  for (const auto& [id, some] : wanted) pending.push_back(id);
  for (int i = 0; i < kRounds && !pending.empty(); ++i) {
    if (is_bare && i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(kQuietMillis));
    const WriteTurn turn(control);
    const ReadTimes read =
        with_shown_fields(control.modes, [&] { return read_times(calls, names, pending); });
    pending = write(calls, names, wanted, read, filled);
  }
}

}  // namespace

std::vector<GiftStatusTimes> SalesforceGiftRecords::find_status_times(
    std::span<const TransactionId> transactions) {
  std::vector<GiftStatusTimes> found;
  const ReadTimes times =
      with_shown_fields(control_.modes, [&] { return read_times(calls_, names_, transactions); });
  for (const Read& read : times.found) found.push_back({read.record.transaction(), times_of(read.record)});
  return found;
}

std::vector<TransactionId> SalesforceGiftRecords::fill_status_times(std::span<const GiftStatusTimes> times) {
  std::vector<TransactionId> filled;
  const std::size_t rows = control_.bare == nullptr ? kRowsPerRound : kSinglesPerBareTurn;
  for (std::size_t done = 0; done < times.size(); done += rows)
    fill_some(calls_, names_, control_, times.subspan(done, std::min(rows, times.size() - done)), filled);
  return filled;
}

}  // namespace giftsync::daemon::salesforce
