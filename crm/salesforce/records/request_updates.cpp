#include "crm/salesforce/records/request_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/records/statements.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::salesforce {

bool RequestRevision::is_distinct() const {
  const std::optional<UtcMillis> modified = read_time(last_modified);
  return modified && read_at.value - modified->value >= kRecentEditMillis;
}

std::string to_text(const RequestRevision& revision) {
  return revision.last_modified + ' ' + std::to_string(revision.read_at.value);
}

std::optional<RequestRevision> parse_revision(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == 0 || space == std::string::npos) return std::nullopt;
  const auto read_at = parse_number<std::int64_t>(std::string_view(text).substr(space + 1));
  if (!read_at) return std::nullopt;
  return RequestRevision{text.substr(0, space), {*read_at}};
}

namespace {
using crm::RequestRecordUpdate;
using crm::RowResult;
using Kind = RowResult::Kind;

constexpr std::size_t kMarkBytes = 16;
constexpr std::size_t kMostWrittenRevisions = 10'000;
constexpr std::string_view kReadReference = "read";
constexpr const char* kChanged = "it was changed in the CRM meanwhile";
constexpr const char* kRefusedUnchanged =
    "the rule As_Read of giftsync's package refuses a record that nothing changed; ask your administrator to "
    "deploy the package again";
constexpr const char* kTooRecent = "it was changed within the last two seconds";

RowResult result(Kind kind, std::string reason = {}, std::int64_t retry_after_millis = 0) {
  RowResult made{kind, std::move(reason), {}};
  made.retry_after_millis = retry_after_millis;
  return made;
}

/// One part of a call is the query.
std::vector<RowBlock> blocks_of(std::size_t rows) {
  std::vector<RowBlock> blocks;
  for (std::size_t i = 0; i < rows; ++i) {
    if (i % kMaxRowsPerPart == 0)
      blocks.push_back({Operation::update, fmt::format("w{}", blocks.size()), {}});
    blocks.back().rows.push_back(i);
  }
  return blocks;
}

RequestRecord with(const RequestRecordUpdate& update) {
  RequestRecord record = update.expected;
  const auto set_text = [&](RequestRecordField field, const std::optional<std::string>& text) {
    if (text) record.set(field, text->empty() ? FieldValue() : FieldValue(*text));
  };
  if (update.status) record.set(RequestRecordField::status, std::string(to_word(*update.status)));
  set_text(RequestRecordField::error_log, update.error_log);
  set_text(RequestRecordField::item_link, update.item_link);
  if (update.auto_approved) record.set(RequestRecordField::auto_approved, *update.auto_approved);
  record.claimed = update.claimed.value_or(record.claimed);
  return record;
}

/// Equal texts: the records have equal values. What a save itself changes is no edit.
std::string state_of(const ApiNames& names, const RequestRecord& record) {
  std::vector<RequestRecordField> fields = names.request_record_fields();
  std::erase(fields, RequestRecordField::last_modified_by);
  std::erase(fields, RequestRecordField::last_modified_date);
  return format_values(record, fields) + (record.claimed ? " claimed" : "");
}

/// Whether an edit that shows no other LastModifiedDate would be overwritten by a decision. Once a record is
/// claimed, a rule of the org keeps people from changing its status.
bool needs_distinct_revision(const RequestRecordUpdate& update) {
  return update.claimed.value_or(false) || (update.status && !update.expected.claimed);
}

RowResult refusal(OrgCalls& calls, const RowAnswer& answer) {
  const ApiError error = first_error(answer.written.errors);
  const ErrorClass found = classify(error, answer.context({}));
  const Treatment treatment = policy_for(found);
  if (treatment.halves_rows) calls.count_split();
  if (treatment.next == Treatment::Next::unchanged) return result(Kind::unchanged, kChanged);
  if (found == ErrorClass::gone) return result(Kind::not_found, "it was deleted in the CRM");
  const bool is_of_part = !is_success(answer.status);
  if (is_of_part && !treatment.is_later()) calls.stop(error, found, CallPurpose::requests);
  return result(treatment.is_later() ? Kind::retry : Kind::rejected, words_of_row(error),
                treatment.retry_after_millis);
}

}  // namespace

std::optional<RequestRevision> WrittenRevisions::current(const std::string& record_id,
                                                         const RequestRevision& read,
                                                         const std::string& state) const {
  const std::lock_guard lock(mutex_);
  const auto known = written_.find(record_id);
  if (known == written_.end() || known->second.read != read.last_modified) return read;
  return known->second.state == state ? known->second.revision : std::nullopt;
}

void WrittenRevisions::note_write(const std::string& record_id, const RequestRevision& read,
                                  std::string state, std::optional<RequestRevision> written) {
  const std::lock_guard lock(mutex_);
  // Without an entry the rule of the org refuses the next write, and the record is read again.
  if (written_.size() >= kMostWrittenRevisions) written_.clear();
  written_.insert_or_assign(record_id, Written{read.last_modified, std::move(state), std::move(written)});
}

void WrittenRevisions::forget(const std::string& record_id) {
  const std::lock_guard lock(mutex_);
  written_.erase(record_id);
}

std::vector<RowResult> RequestUpdates::run(std::span<const RequestRecordUpdate> updates) {
  updates_ = updates;
  results_.assign(updates.size(), result(Kind::unchanged, kChanged));
  plan();
  const std::size_t most =
      std::clamp<std::size_t>(calls_.rows_per_call(), 1, (kMaxHeavyParts - 1) * kMaxRowsPerPart);
  const auto alone = std::stable_partition(rows_.begin(), rows_.end(),
                                           [](const Row& row) { return !reads_as_reference(row.json); });
  const std::span<const Row> together(rows_.begin(), alone);
  const std::span<const Row> others(alone, rows_.end());
  try {
    for (std::size_t first = 0; first < together.size(); first += most)
      write(together.subspan(first, std::min(most, together.size() - first)));
    const std::size_t most_alone = std::min(most, kMaxRowsPerPart);
    for (std::size_t first = 0; first < others.size(); first += most_alone)
      write(others.subspan(first, std::min(most_alone, others.size() - first)));
  } catch (const giftsync::DependencyError& fault) {
    if (!has_results_) throw;
    for (const Row& row : rows_) {
      if (!row.json.empty() && results_[row.position].kind == Kind::retry &&
          results_[row.position].reason.empty())
        results_[row.position].reason = fault.what();
    }
  }
  return std::move(results_);
}

/// What cannot be written now costs no call.
void RequestUpdates::plan() {
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    const RequestRecordUpdate& update = updates_[i];
    const std::optional<RequestRevision> read = parse_revision(update.expected.revision);
    const auto current =
        read ? revisions_.current(update.expected.id, *read, state_of(names_, update.expected))
             : std::nullopt;
    if (!current || (needs_distinct_revision(update) && !current->is_distinct())) {
      results_[i] = result(Kind::retry, kTooRecent);
      continue;
    }
    std::string mark = random_hex(kMarkBytes);
    std::string json = request_update_row(names_, update, {current->last_modified, mark});
    results_[i] = result(Kind::retry);
    rows_.push_back({i, *read, std::move(mark), std::move(json), current->last_modified});
  }
}

void RequestUpdates::write(std::span<const Row> rows) {
  std::vector<WriteRow> written;
  std::vector<std::string> ids;
  for (const Row& row : rows) {
    written.push_back({Operation::update, row.json});
    ids.push_back(updates_[row.position].expected.id);
  }
  WriteCall call{{}, blocks_of(rows.size())};
  std::vector<PartRequest> parts;
  for (const RowBlock& block : call.blocks) parts.push_back(block_part(calls_.api_version(), block, written));
  // The record of a row that is alone is read again before its next write.
  if (!parts.front().is_alone)
    parts.push_back(query_part(calls_.api_version(), requests_by_id(names_, ids).front().soql,
                               std::string(kReadReference)));
  const auto answer = calls_.write(parts, rows.size(), CallPurpose::requests);
  if (!answer) return take_lost(rows, answer.error().reason);
  const ReadRows now = read_rows(find_part(answer->parts, kReadReference));
  for (const RowAnswer& row_answer : row_answers(call, answer->parts))
    take(rows[row_answer.row], row_answer, now, answer->as_of);
}

RequestUpdates::ReadRows RequestUpdates::read_rows(const CompositePart* part) const {
  ReadRows rows;
  if (!part || !is_success(part->status)) return rows;
  const tl::expected<QueryPage, Fault> page = query_page(*part->body);
  if (!page) return rows;
  for (const JsonValue& json : page->records) {
    ReadRecord<RequestRecord> read = read_request(names_, json);
    rows.emplace(read.id, std::move(read));
  }
  return rows;
}

void RequestUpdates::take(const Row& row, const RowAnswer& answer, const ReadRows& now, UtcMillis as_of) {
  RowResult& outcome = results_[row.position];
  if (!answer.is_answered) {
    outcome.reason = "Salesforce's answer does not say whether the row was written";
    return;
  }
  has_results_ = true;
  if (!answer.written.is_success) {
    outcome = refusal(calls_, answer);
    if (outcome.kind == Kind::unchanged && is_as_read(row, now))
      outcome =
          result(Kind::rejected, kRefusedUnchanged, policy_for(ErrorClass::org_rule).retry_after_millis);
    return;
  }
  outcome = result(Kind::updated);
  note_written(row, now, as_of);
}

/// To write such a record again at once would be refused again.
bool RequestUpdates::is_as_read(const Row& row, const ReadRows& now) const {
  const RequestRecordUpdate& update = updates_[row.position];
  const auto status = request_record_status_from_word(update.expected.text(RequestRecordField::status));
  // Another rule keeps records that are not approved from being claimed.
  if (update.claimed.value_or(false) && status != RequestRecordStatus::approved) return false;
  const auto read = now.find(update.expected.id);
  return read != now.end() && read->second.last_modified == row.named &&
         state_of(names_, read->second.record) == state_of(names_, update.expected);
}

/// The record's new revision is used only when nothing else was changed since the write.
void RequestUpdates::note_written(const Row& row, const ReadRows& now, UtcMillis as_of) {
  const RequestRecordUpdate& update = updates_[row.position];
  const auto read = now.find(update.expected.id);
  std::string state = state_of(names_, with(update));
  const bool is_as_written = read != now.end() && read->second.guard_mark == row.mark &&
                             state_of(names_, read->second.record) == state;
  revisions_.note_write(
      update.expected.id, row.read, std::move(state),
      is_as_written ? std::optional(RequestRevision{read->second.last_modified, as_of}) : std::nullopt);
}

/// The org may have written the rows. A claim with giftsync's mark is this daemon's.
void RequestUpdates::take_lost(std::span<const Row> rows, const std::string& reason) {
  std::vector<std::string> ids;
  for (const Row& row : rows) ids.push_back(updates_[row.position].expected.id);
  const auto statements = [this](std::span<const std::string> some) { return requests_by_id(names_, some); };
  const Query query = query_of(std::span<const std::string>(ids), statements);
  const Answers answers = ask(calls_, std::span(&query, 1), CallPurpose::requests);
  ReadRows now;
  for (const JsonValue* json : answers.of_query.front().rows) {
    ReadRecord<RequestRecord> read = read_request(names_, *json);
    now.emplace(read.id, std::move(read));
  }
  for (const Row& row : rows) {
    const auto read = now.find(updates_[row.position].expected.id);
    RowResult& outcome = results_[row.position];
    if (read == now.end()) {
      outcome = result(Kind::not_found, "it was deleted in the CRM");
    } else if (read->second.guard_mark == row.mark) {
      outcome = result(Kind::updated);
      note_written(row, now, *answers.as_of);
    } else {
      outcome = result(Kind::unchanged, reason);
    }
  }
  has_results_ = true;
}

}  // namespace giftsync::salesforce
