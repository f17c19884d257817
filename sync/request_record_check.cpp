#include "sync/request_record_check.h"

#include <algorithm>
#include <iterator>

#include "sync/request_record_reconcile.h"
#include "sync/request_record_to_gift_request.h"

namespace giftsync::sync {
namespace {

using F = schema::RequestRecordField;
using schema::store::RequestRecordEntry;

/// A record that was deleted in the CRM.
std::optional<RequestRecordCheck> check_deleted(schema::store::Store& store, const std::string& name) {
  const std::optional<RequestRecordEntry> known = store.request_records.find_by_number_or_id(name);
  if (!known) return std::nullopt;
  RequestRecordCheck check{known->record_id, known->number, std::nullopt, false, {}};
  check.is_sent = !store.request_records.find_gifts_by_record(std::span(&known->record_id, 1)).empty();
  RequestRecordProgress progress{true, "", *known, known->next_attempt_at, check.is_sent};
  progress.current.deleted = true;
  check.findings = progress_findings(progress);
  return check;
}

/// The stored entry, with the edits that no daemon has read yet.
RequestRecordEntry current_entry(const LoadedRequestRecord& loaded, const RequestRecordEntry& known,
                                 bool has_gift, const RequestRecordRules& rules, platform::UtcMillis now) {
  RequestRecordSnapshot snapshot{loaded.row, approved_content_of(loaded.completed), known, has_gift,
                                 rules.auto_approved_default};
  snapshot.integration_user = rules.integration_user;
  return reconcile_request_record(snapshot, now).change.next;
}

std::vector<RequestRecordFinding> find_sending_findings(schema::store::Store& store,
                                                        const LoadedRequestRecord& loaded,
                                                        const RequestRecordRules& rules) {
  const auto gift = gift_id_of(loaded.completed);
  const auto item = gift ? store.catalogue.item(*gift) : std::nullopt;
  SendingFacts facts{item ? &*item : nullptr, loaded.person_found, {}, rules.limits};
  const std::string& sender = loaded.completed.text(F::sender);
  if (!sender.empty()) facts.sender = rules.authorize_senders(std::span(&sender, 1)).front();
  return sending_findings(loaded.completed, facts);
}

}  // namespace

std::optional<RequestRecordCheck> check_request_record(schema::store::Store& store, schema::crm::Crm& crm,
                                                       const RequestRecordRules& rules, bool requests_enabled,
                                                       const std::string& number_or_id,
                                                       platform::UtcMillis now) {
  schema::crm::RequestRecords& records = *crm.request_records();
  const std::optional<schema::RequestRecord> row = records.find_one(number_or_id);
  if (!row) return check_deleted(store, number_or_id);
  const LoadedRequestRecord loaded = load_with_defaults(records, {*row}).front();
  const std::vector<RequestRecordEntry> found = store.request_records.find(std::span(&row->id, 1));
  const RequestRecordEntry known = found.empty() ? RequestRecordEntry() : found.front();
  RequestRecordCheck check{row->id,
                           row->text(F::number),
                           schema::request_record_status_from_word(row->text(F::status)),
                           false,
                           {}};
  check.is_sent = !store.request_records.find_gifts_by_record(std::span(&row->id, 1)).empty();
  if (check.is_sent) return check;
  const RequestRecordProgress progress{requests_enabled, row->unreadable,
                                       current_entry(loaded, known, check.is_sent, rules, now),
                                       known.next_attempt_at, check.is_sent};
  check.findings = progress_findings(progress);
  const auto state = progress.current.state;
  const bool has_ended = state == schema::store::RequestRecordState::rejected ||
                         state == schema::store::RequestRecordState::sent;
  if (has_ended) return check;
  std::vector<RequestRecordFinding> sending = find_sending_findings(store, loaded, rules);
  std::move(sending.begin(), sending.end(), std::back_inserter(check.findings));
  if (!check.findings.empty()) return check;
  if (auto waiting = waiting_finding(progress, now)) check.findings.push_back(std::move(*waiting));
  return check;
}

std::vector<RequestRecordFinding> findings_when_approved(schema::store::Store& store,
                                                         const LoadedRequestRecord& loaded,
                                                         const RequestRecordRules& rules) {
  RequestRecordProgress progress;
  progress.unreadable = loaded.row.unreadable;
  progress.current.state = schema::store::RequestRecordState::approved;
  std::vector<RequestRecordFinding> findings = progress_findings(progress);
  std::vector<RequestRecordFinding> sending = find_sending_findings(store, loaded, rules);
  std::move(sending.begin(), sending.end(), std::back_inserter(findings));
  return findings;
}

}  // namespace giftsync::sync
