// daemon/salesforce: relinks gift records, each only as long as it is as it was read, and their tasks. The
// org compares whole seconds: an edit in the second of the one that was read would not be seen. So a record
// that was edited a moment ago is read again later.
#include <Poco/DateTime.h>
#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeParser.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/salesforce/composite.h"
#include "daemon/salesforce/error_class.h"
#include "daemon/salesforce/gift_records.h"
#include "daemon/salesforce/lookup_targets.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/row_writes.h"
#include "daemon/salesforce/soql_text.h"
#include "daemon/salesforce/statements.h"
#include "daemon/salesforce/unmodified_patch.h"
#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/visible_text.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using schema::Associations;
using schema::GiftField;
using schema::GiftRecord;
using schema::TransactionId;
using schema::crm::GiftRelink;
using schema::crm::RowResult;
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
  platform::UtcMillis read_at;  ///< by the org's clock
};

/// The earliest of the answers; the far future when the org does not say it.
platform::UtcMillis time_of(const Answers& answers) {
  platform::UtcMillis earliest{std::numeric_limits<std::int64_t>::max()};
  for (const AnswerBody& body : answers.bodies) {
    Poco::DateTime date;
    int zone = 0;
    if (!Poco::DateTimeParser::tryParse(Poco::DateTimeFormat::HTTP_FORMAT, body.date, date, zone)) continue;
    earliest = std::min(earliest, platform::UtcMillis{date.timestamp().epochMicroseconds() / 1000});
  }
  return earliest;
}

ReadLinks read_links(OrgCalls& calls, const ApiNames& names, std::span<const TransactionId> ids) {
  const Question question = question_of(
      ids, [&](std::span<const TransactionId> some) { return gift_links_by_transaction(names, some); });
  const Answers answers = ask(calls, std::span(&question, 1), Spending::backfill);
  ReadLinks links{{}, time_of(answers)};
  for (const JsonValue* row : answers.of_question.front().rows) {
    Read read = read_gift(names, *row);
    const auto* id = std::get_if<std::int64_t>(&read.record.get(GiftField::transaction_id));
    if (id) links.found.emplace(TransactionId{*id}, std::move(read));
  }
  return links;
}

bool is_quiet(const Read& read, platform::UtcMillis read_at) {
  const std::optional<platform::UtcMillis> edited = read_time(read.last_modified);
  return !edited || edited->value <= read_at.value - kQuietMillis;
}

/// Waits once when a record was edited a moment ago.
ReadLinks read_quiet_links(OrgCalls& calls, const ApiNames& names, std::span<const TransactionId> ids) {
  ReadLinks links = read_links(calls, names, ids);
  const auto is_edited = [&](const auto& entry) { return !is_quiet(entry.second, links.read_at); };
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

PartRequest part_of(const OrgCalls& calls, const ApiNames& names, const Relinking& one, std::size_t number) {
  GiftRelink relink = *one.relink;
  // A stage of a user's own stays.
  if (stage_of(one.read.record) != relink.stage_from) relink.stage_to = relink.stage_from;
  return unmodified_part({.api_version = calls.api_version(),
                          .object = names.object("gift_record"),
                          .id = one.read.id,
                          .last_modified = one.read.last_modified,
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
  const bool is_retry = treatment_of(found).next == Treatment::Next::retry;
  return {is_retry ? Kind::retry : Kind::rejected, "Salesforce: " + error.code + ": " + error.message, {}};
}

void write_links(OrgCalls& calls, const ApiNames& names, std::span<const Relinking> relinkings,
                 std::vector<RowResult>& results) {
  std::vector<PartRequest> parts;
  for (std::size_t i = 0; i < relinkings.size(); ++i)
    parts.push_back(part_of(calls, names, relinkings[i], i));
  write_parts(calls, parts, Spending::backfill,
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
  const std::string reason = platform::visible_text(first);
  const std::array<platform::LogField, 2> fields{{{"tasks", count}, {"first", std::string_view(reason)}}};
  platform::log_warning("Salesforce did not take the new Name of tasks whose gifts were relinked", fields);
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
      calls, question_of(std::span<const TransactionId>(ids), statements, true), Spending::backfill,
      [&](const JsonValue& row) {
        const auto task = read_task(names, row);
        const auto found = task ? moved.find(task->transaction) : moved.end();
        if (found == moved.end() || !is_same_id(task->who_id, found->second.from.contact_id)) return;
        rows.push_back({Operation::update, task_relink_row(names, task->id, found->second.to.contact_id)});
      });
  log_refused(write_rows(calls, rows, Spending::backfill));
}

/// Removes missing targets from `to`; returns the removed lookups.
std::vector<std::vector<GiftField>> clear_missing_targets(schema::crm::GiftRecords& records,
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
      for (RowResult& one : relink_some(given.subspan(done, std::min(rows, given.size() - done))))
        results.push_back(std::move(one));
  } catch (const platform::DependencyError& fault) {
    // Results that are known stay so when the org breaks off.
    if (results.empty()) throw;
    results.resize(given.size(), RowResult{Kind::retry, fault.what(), {}});
  }
  return results;
}

/// In one turn.
std::vector<RowResult> SalesforceGiftRecords::relink_some(std::span<const GiftRelink> given) {
  const WriteTurn turn(control_);
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
    else if (!has_links(names_, schema::associations_of(at->second.record), rows[i].from))
      results[i] = {Kind::unchanged, "the record holds other lookups than expected", {}};
    else if (!is_quiet(at->second, links.read_at))
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

}  // namespace giftsync::daemon::salesforce
