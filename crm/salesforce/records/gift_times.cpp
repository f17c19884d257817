// crm/salesforce: relinks gift records, each only as long as it is as it was read, and their tasks. The
// org compares whole seconds: an edit in the second of the one that was read would not be seen. So a record
// that was edited a moment ago is read again later.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/error_class.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/row_writes.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/gift_records.h"
#include "crm/salesforce/records/lookup_targets.h"
#include "crm/salesforce/records/statements.h"
#include "platform/dependency_error.h"
#include "platform/http_client.h"
#include "platform/logging.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftRelink;
using crm::RowResult;
using Kind = RowResult::Kind;
using Read = ReadRecord<GiftRecord>;

/// A relink and the record that it changes.
struct Relinking {
  std::size_t row = 0;
  const GiftRelink* relink = nullptr;
  Read read;
};

struct ReadLinks {
  std::map<TransactionId, Read> found;
  UtcMillis read_at;  ///< by the org's clock
};

/// The earliest of the answers; the far future when the org does not say it.
UtcMillis time_of(const Answers& answers) {
  UtcMillis earliest{std::numeric_limits<std::int64_t>::max()};
  for (const AnswerBody& body : answers.bodies) {
    if (const auto date = from_http_date(body.date)) earliest = std::min(earliest, *date);
  }
  return earliest;
}

ReadLinks read_links(OrgCalls& calls, const ApiNames& names, std::span<const TransactionId> ids) {
  const Query query = query_of(
      ids, [&](std::span<const TransactionId> some) { return gift_links_by_transaction(names, some); });
  const Answers answers = ask(calls, std::span(&query, 1), CallPurpose::backfill);
  ReadLinks links{{}, time_of(answers)};
  for (const JsonValue* row : answers.of_query.front().rows) {
    Read read = read_gift(names, *row);
    const auto* id = std::get_if<std::int64_t>(&read.record.get(GiftField::transaction_id));
    if (id) links.found.emplace(TransactionId{*id}, std::move(read));
  }
  return links;
}

/// Whether a record was not edited a moment ago. The org compares whole seconds. `undated`: the answer for a
/// record without an edit time.
bool is_quiet(const Read& read, UtcMillis read_at, bool undated) {
  const std::optional<UtcMillis> edited = read_time(read.last_modified);
  return edited ? edited->value <= read_at.value - kQuietMillis : undated;
}

/// Waits once when a record was edited a moment ago.
ReadLinks read_quiet_links(OrgCalls& calls, const ApiNames& names, std::span<const TransactionId> ids) {
  ReadLinks links = read_links(calls, names, ids);
  const auto is_edited = [&](const auto& entry) { return !is_quiet(entry.second, links.read_at, true); };
  if (std::ranges::none_of(links.found, is_edited)) return links;
  std::this_thread::sleep_for(std::chrono::milliseconds(kQuietMillis));
  return read_links(calls, names, ids);
}

/// Fields that the org does not have are not compared.
bool has_links(const ApiNames& names, const Associations& links, const Associations& expected) {
  const auto is_same = [&](GiftField field, std::string Associations::*id) {
    return names.field(field).empty() || is_same_id(links.*id, expected.*id);
  };
  return is_same(GiftField::recipient_contact, &Associations::contact_id) &&
         is_same(GiftField::account, &Associations::account_id) &&
         is_same(GiftField::recipient_lead, &Associations::lead_id) &&
         is_same(GiftField::opportunity, &Associations::opportunity_id);
}

std::string stage_of(const GiftRecord& record) {
  const auto* stage = std::get_if<std::string>(&record.get(GiftField::deal_stage));
  return stage ? *stage : std::string();
}

PartRequest part_of(const OrgCalls& calls, const ApiNames& names, const Relinking& relinking,
                    std::size_t number) {
  GiftRelink relink = *relinking.relink;
  // A stage of a user's own stays.
  if (stage_of(relinking.read.record) != relink.stage_from) relink.stage_to = relink.stage_from;
  return unmodified_part({.api_version = calls.api_version(),
                          .object = names.object("gift_record"),
                          .id = relinking.read.id,
                          .last_modified = relinking.read.last_modified,
                          .reference = fmt::format("r{}", number),
                          .body = gift_relink_row(names, "", relink)});
}

RowResult result_of(const CompositePart& part) {
  if (is_success(part.status)) return {Kind::updated, {}, {}};
  const std::vector<ApiError> errors = request_errors(*part.body);
  const ApiError error =
      errors.empty() ? ApiError{fmt::format("HTTP {}", part.status), "", {}} : errors.front();
  const ErrorClass found = classify(error, {Operation::update, true, part.status, {}});
  if (part.status == kPreconditionFailed || found == ErrorClass::changed_since_read)
    return {Kind::unchanged, "the record was changed since it was read", {}};
  if (found == ErrorClass::gone) return {Kind::not_found, "the gift record was deleted in the CRM", {}};
  const bool is_retry = policy_for(found).next == Treatment::Next::retry;
  return {is_retry ? Kind::retry : Kind::rejected, "Salesforce: " + error.code + ": " + error.message, {}};
}

void write_links(OrgCalls& calls, const ApiNames& names, std::span<const Relinking> relinkings,
                 std::vector<RowResult>& results) {
  std::vector<PartRequest> parts;
  for (std::size_t i = 0; i < relinkings.size(); ++i)
    parts.push_back(part_of(calls, names, relinkings[i], i));
  write_parts(calls, parts, CallPurpose::backfill,
              [&](std::size_t at, const CompositePart* part, const std::string& reason) {
                results[relinkings[at].row] = part ? result_of(*part) : RowResult{Kind::retry, reason, {}};
              });
}

/// The gift is relinked all the same.
void log_refused(const std::vector<RowWrite>& writes) {
  std::int64_t count = 0;
  std::string first;
  for (const RowWrite& write : writes) {
    if (write.answer.is_answered && write.answer.written.is_success) continue;
    const std::vector<ApiError>& errors = write.answer.written.errors;
    if (count++ == 0)
      first = errors.empty() ? write.reason : errors.front().code + ": " + errors.front().message;
  }
  if (count == 0) return;
  const std::string reason = visible_text(first);
  log_event(LogEvent::crm_rows_refused,
            "Salesforce did not take the new Name of tasks whose gifts were relinked",
            {{"tasks", count}, {"first", reason}});
}

/// A task's Name follows its gift, unless a user changed it.
void write_tasks(OrgCalls& calls, const ApiNames& names, const std::map<TransactionId, GiftRelink>& moved) {
  if (moved.empty() || names.field(OwnField::task_transaction).empty() || names.object("task").empty())
    return;
  std::vector<TransactionId> ids;
  for (const auto& [id, relink] : moved) ids.push_back(id);
  std::vector<WriteRow> rows;
  const auto statements = [&](std::span<const TransactionId> some) {
    return tasks_by_transaction(names, some);
  };
  each_row(
      calls, query_of(std::span<const TransactionId>(ids), statements, true), CallPurpose::backfill,
      [&](const JsonValue& row) {
        const auto task = read_task(names, row);
        const auto found = task ? moved.find(task->transaction) : moved.end();
        if (found == moved.end() || !is_same_id(task->who_id, found->second.from.contact_id)) return;
        rows.push_back({Operation::update, task_relink_row(names, task->id, found->second.to.contact_id)});
      });
  log_refused(write_rows(calls, rows, CallPurpose::backfill));
}

/// Removes missing targets from `to`; returns the removed lookups.
std::vector<std::vector<GiftField>> clear_missing_targets(crm::GiftRecords& records,
                                                          std::vector<GiftRelink>& rows) {
  std::vector<Associations> targets;
  for (const GiftRelink& row : rows) targets.push_back(row.to);
  std::vector<std::vector<GiftField>> missing = records.missing_lookups(targets);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const GiftField lookup : missing[i]) rows[i].clear_target(lookup);
  return missing;
}

}  // namespace

std::vector<RowResult> SalesforceGiftRecords::relink(std::span<const GiftRelink> given) {
  const std::size_t rows = control_.bare == nullptr ? given.size() : kSinglesPerBareTurn;
  std::vector<RowResult> results;
  try {
    for (std::size_t done = 0; done < given.size(); done += rows)
      for (RowResult& result : relink_some(given.subspan(done, std::min(rows, given.size() - done))))
        results.push_back(std::move(result));
  } catch (const giftsync::DependencyError& fault) {
    // Results that are known stay so when the org breaks off.
    if (results.empty()) throw;
    results.resize(given.size(), RowResult{Kind::retry, fault.what(), {}});
  }
  return results;
}

/// In one turn.
std::vector<RowResult> SalesforceGiftRecords::relink_some(std::span<const GiftRelink> given) {
  const WriteContext turn(control_);
  std::vector<GiftRelink> rows(given.begin(), given.end());
  std::vector<std::vector<GiftField>> cleared = clear_missing_targets(*this, rows);
  std::vector<TransactionId> ids;
  for (const GiftRelink& row : rows) ids.push_back(row.transaction);
  const ReadLinks links =
      with_shown_fields(control_.modes, [&] { return read_quiet_links(calls_, names_, ids); });
  std::vector<RowResult> results(rows.size());
  std::vector<Relinking> relinkings;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = links.found.find(rows[i].transaction);
    if (at == links.found.end())
      results[i] = {Kind::not_found, "the gift record was deleted in the CRM", {}};
    else if (!has_links(names_, associations_of(at->second.record), rows[i].from))
      results[i] = {Kind::unchanged, "the record holds other lookups than expected", {}};
    else if (!is_quiet(at->second, links.read_at, true))
      results[i] = {Kind::retry, "the record is being edited in the CRM; run the command again", {}};
    else
      relinkings.push_back({i, &rows[i], at->second});
  }
  write_links(calls_, names_, relinkings, results);
  std::map<TransactionId, GiftRelink> moved;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (results[i].kind != Kind::updated) continue;
    results[i].cleared_lookups = std::move(cleared[i]);
    if (rows[i].from.contact_id != rows[i].to.contact_id) moved.emplace(rows[i].transaction, rows[i]);
  }
  if (turn.mode().offers_tasks) write_tasks(calls_, names_, moved);
  return results;
}

// Reads the status times of gift records, and fills missing ones. A record that giftsync
// writes meanwhile refuses the older version; it is read once more. In bare mode the record must be
// unmodified since it was read, and giftsync itself does not write it meanwhile.

namespace {
using crm::GiftStatusTimes;

constexpr int kRounds = 3;
constexpr std::size_t kRowsPerRound = 2000;

StatusTimes times_of(const GiftRecord& record) {
  StatusTimes times;
  for (const Status status : kAllStatuses) {
    if (const auto* time = std::get_if<UtcMillis>(&record.get(time_field_of(status)))) times[status] = *time;
  }
  return times;
}

using Wanted = std::map<TransactionId, StatusTimes>;

struct ReadTimes {
  std::vector<Read> found;
  UtcMillis read_at;  ///< by the org's clock
};

ReadTimes read_times(OrgCalls& calls, const ApiNames& names, std::span<const TransactionId> transactions) {
  const Query query = query_of(transactions, [&](std::span<const TransactionId> some) {
    return gift_times_by_transaction(names, some);
  });
  const Answers answers = ask(calls, std::span(&query, 1), CallPurpose::backfill);
  ReadTimes times{{}, answers.as_of.value_or(UtcMillis{0})};
  for (const JsonValue* row : answers.of_query.front().rows) {
    Read read = read_gift(names, *row);
    if (std::holds_alternative<std::int64_t>(read.record.get(GiftField::transaction_id)))
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
  for (const Status status : kAllStatuses) {
    if (!wanted[status] || known[status] || names.field(time_field_of(status)).empty()) continue;
    missing[status] = wanted[status];
    is_any_missing = true;
  }
  return is_any_missing ? std::optional(missing) : std::nullopt;
}

/// Records that did not take their times.
struct Refused {
  std::int64_t count = 0;
  std::string first = {};
  TransactionId first_gift = {};

  void add(TransactionId id, const ApiError& error) {
    if (count++ > 0) return;
    first = fmt::format("gift {}: {}: {}", id.value, error.code, error.message);
    first_gift = id;
  }
  void log() const {
    if (count == 0) return;
    const std::string reason = visible_text(first);
    log_event(LogEvent::crm_rows_refused, "Salesforce did not take times of gift records",
              {{"gift_records", count}, {"first", reason}, gift_field(first_gift.value).not_in_text()});
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
  const std::vector<RowWrite> writes = write_rows(calls, rows, CallPurpose::backfill);
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
    if (!is_quiet(read, records.read_at, false)) {
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
  write_parts(calls, parts, CallPurpose::backfill,
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
  for (const GiftStatusTimes& status_times : times)
    wanted.emplace(status_times.transaction, status_times.times);
  std::vector<TransactionId> pending;
  for (const auto& [id, some] : wanted) pending.push_back(id);
  for (int i = 0; i < kRounds && !pending.empty(); ++i) {
    if (is_bare && i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(kQuietMillis));
    const WriteContext turn(control);
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

}  // namespace giftsync::salesforce
