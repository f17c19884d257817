#include "sync/request/request_record_approval.h"

#include <algorithm>

#include "platform/digest.h"
#include "platform/text.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::sync {
namespace {

using Kind = ApprovalResult::Kind;
using F = RequestRecordField;

constexpr int kMaxAttempts = 5;
constexpr std::size_t kVersionDigits = 32;

ApprovalResult result_of(Kind kind, const RequestRecord& row, std::string reason = {}) {
  return {kind,
          std::move(reason),
          row.id,
          row.text(F::number),
          request_record_status_from_word(row.text(F::status)).value_or(RequestRecordStatus::pending),
          false};
}

store::RequestRecordEntry with_decision(store::RequestRecordEntry next, const LoadedRequestRecord& loaded,
                                        const ApprovalDecision& decision, store::RequestRecordState state,
                                        UtcMillis now) {
  next.record_id = loaded.row.id;
  next.number = loaded.row.text(F::number);
  next.state = state;
  next.error.clear();
  next.failures = 0;
  next.next_attempt_at = now + kWriteInFlightMillis;
  const bool approves = state == store::RequestRecordState::approved;
  next.approval = approves ? store::Approval::person : store::Approval::none;
  next.approved_by = approves ? decision.who : "";
  next.approved_content = approves ? approved_content_of(loaded.completed) : "";
  // From here on giftsync itself may have written Approved to the CRM.
  if (approves) next.crm_status = RequestRecordStatus::approved;
  return next;
}

std::string version_of(const LoadedRequestRecord& loaded) {
  return version_of_content(approved_content_of(loaded.completed));
}

bool is_one_of(const std::vector<std::string>& versions, const LoadedRequestRecord& loaded) {
  return versions.empty() ||
         std::find(versions.begin(), versions.end(), version_of(loaded)) != versions.end();
}

/// True if the record is where the decision would bring it, or further: an approved request is sent later.
bool holds_already(store::RequestRecordState state, RequestRecordAction action) {
  using State = store::RequestRecordState;
  if (action == RequestRecordAction::reject) return state == State::rejected;
  return state == State::approved || state == State::claimed || state == State::sent;
}

/// The current row, if the decision still applies to it: its content and its status are unchanged.
std::optional<LoadedRequestRecord> reread_if_unchanged(crm::RequestRecords& records,
                                                       const LoadedRequestRecord& before) {
  const std::string& id = before.row.id;
  const std::vector<RequestRecord> rows = records.find(std::span(&id, 1));
  if (rows.empty()) return std::nullopt;
  LoadedRequestRecord now = load_with_defaults(records, rows).front();
  const bool fits = approved_content_of(now.completed) == approved_content_of(before.completed) &&
                    now.row.text(F::status) == before.row.text(F::status);
  return fits ? std::optional(std::move(now)) : std::nullopt;
}

/// Writes a decision that is in the store already. If the CRM write fails, the daemon makes it later.
crm::RowResult write_decision(crm::RequestRecords& records, LoadedRequestRecord loaded,
                              RequestRecordStatus status) {
  crm::RowResult result;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    crm::RequestRecordUpdate write{loaded.row};
    write.status = status;
    if (!loaded.row.text(F::error_log).empty()) write.error_log = "";
    if (!loaded.row.checkbox(F::auto_approved)) write.auto_approved = false;
    result = records.update(std::span(&write, 1)).front();
    if (result.kind != crm::RowResult::Kind::unchanged) return result;
    auto again = reread_if_unchanged(records, loaded);
    if (!again) return result;
    loaded = std::move(*again);
  }
  return result;
}

/// One attempt; nullopt when another process changed the entry first.
std::optional<ApprovalResult> try_decision(store::RequestRecords& request_records,
                                           crm::RequestRecords& records, const std::string& name,
                                           const ApprovalDecision& decision, UtcMillis now) {
  const std::optional<RequestRecord> row = records.find_one(name);
  if (!row) return ApprovalResult{Kind::unknown, "there is no request " + name, "", "", {}, false};
  auto loaded = load_with_defaults(records, {*row});
  if (!is_one_of(decision.versions, loaded.front()))
    return result_of(Kind::other_content, *row,
                     "its content is another one than the one that the decision is about; read it again");
  if (!row->unreadable.empty())
    return result_of(Kind::illegal, *row,
                     "its " + row->unreadable + " contains invalid text (not UTF-8); correct it in the CRM");
  const std::vector<store::RequestRecordEntry> found = request_records.find(std::span(&row->id, 1));
  const bool has_gift = !request_records.find_gifts_by_record(std::span(&row->id, 1)).empty();
  // An edit in the CRM that no daemon has processed yet applies first.
  RequestRecordReconciliation reconciled =
      reconcile_request_record({loaded.front().row, approved_content_of(loaded.front().completed),
                                found.empty() ? store::RequestRecordEntry() : found.front(), has_gift, false},
                               now);
  store::RequestRecordState state = reconciled.change.next.state;
  if (row->claimed && state != store::RequestRecordState::sent) state = store::RequestRecordState::claimed;
  const auto next = state_after(state, decision.action);
  const std::string wanted(decision.action == RequestRecordAction::approve ? "Approved" : "Rejected");
  if (!next) {
    ApprovalResult refused = result_of(Kind::illegal, *row, transition_error(state, wanted));
    refused.is_already_so = holds_already(state, decision.action);
    if (refused.is_already_so) refused.status = crm_status_for(state);
    return refused;
  }
  store::RequestRecordEntryUpdate change = reconciled.change;
  change.transitions.push_back(
      {now, decision.who, std::string(to_word(state)), std::string(to_word(*next)), decision.comment});
  change.next = with_decision(change.next, loaded.front(), decision, *next, now);
  change.audit = decision.audit;
  if (request_records.save(std::span(&change, 1)).empty()) return std::nullopt;
  const crm::RowResult result = write_decision(records, std::move(loaded.front()), crm_status_for(*next));
  if (result.kind != crm::RowResult::Kind::updated) {
    ApprovalResult stored = result_of(Kind::changed, *row,
                                      result.reason + "; your decision is stored, check the record's status");
    stored.is_stored = true;
    return stored;
  }
  ApprovalResult done = result_of(Kind::done, *row);
  done.status = crm_status_for(*next);
  return done;
}

}  // namespace

std::string version_of_content(const std::string& content) {
  return sha256_hex(content).substr(0, kVersionDigits);
}

std::string content_version(crm::RequestRecords& records, const RequestRecord& row) {
  return version_of(load_with_defaults(records, {row}).front());
}

ApprovalResult decide_request_record(store::RequestRecords& request_records, crm::RequestRecords& records,
                                     const std::string& number_or_id, const ApprovalDecision& decision,
                                     UtcMillis now) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (auto outcome = try_decision(request_records, records, number_or_id, decision, now))
      return std::move(*outcome);
  }
  return {Kind::changed,
          "it is being changed at the same time; check its status and try again",
          "",
          number_or_id,
          {},
          false};
}

}  // namespace giftsync::sync
