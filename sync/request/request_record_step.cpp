#include "sync/request/request_record_step.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "platform/text.h"
#include "sync/request/request_record_sending.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;
using store::RequestRecordEntry;
using store::RequestRecordEntryUpdate;
using Ids = std::vector<std::string>;

constexpr std::int64_t kRefusedWriteDelayMillis = kMinuteMillis;
/// The clock skew repair (sync/mail/delivery_rules.h) resets longer waits.
static_assert(std::max({kRefusedWriteDelayMillis, kRevertedEditDelayMillis, kClaimInFlightMillis,
                        kWriteInFlightMillis}) <= kMaxSyncRetryMillis);

/// The rest of a step's records are records that are due.
std::size_t max_change_events(const RequestRecordContext& context) {
  return context.max_records * 3 / 4;
}

/// Sorted and without duplicates.
Ids collect_ids(const RequestRecordContext& context,
                const std::vector<crm::RequestRecordEvent>& change_events, RequestRecordStepStats& stats) {
  std::set<std::string> record_ids;
  for (const crm::RequestRecordEvent& event : change_events) {
    if (is_storable_text(event.record_id))
      record_ids.insert(event.record_id);
    else
      stats.warnings.push_back(
          {LogEvent::request_record_refused,
           "the Id of a request record is invalid text (not UTF-8); change it in the CRM"});
  }
  // Never 0: due records must not wait for the end of a long import.
  const std::size_t capacity = context.max_records - record_ids.size();
  const Ids due = context.store.request_records.find_due(context.now, capacity);
  record_ids.insert(due.begin(), due.end());
  stats.more = change_events.size() == max_change_events(context) || (capacity > 0 && due.size() == capacity);
  stats.checked = record_ids.size();
  return {record_ids.begin(), record_ids.end()};
}

/// An item link that giftsync wrote follows the Gift Id, so that approvers see the right item; a custom
/// link is kept. Nullopt when nothing has to be written.
std::optional<std::string> item_link_to_write(const RequestRecordRules& rules, const RequestRecord& row) {
  const std::string current = row.text(F::item_link);
  const auto linked = parse_gift_id(current.substr(current.find_last_not_of("0123456789") + 1));
  const bool is_own_link = linked && rules.item_link(*linked) == current;
  if (!current.empty() && !is_own_link) return std::nullopt;
  const auto gift = gift_id_of(row);
  std::string wanted = gift ? rules.item_link(*gift) : std::string();
  return wanted == current ? std::nullopt : std::optional(std::move(wanted));
}

RequestRecordSnapshot snapshot_of(const RequestRecordContext& context, const RequestWork& work,
                                  std::optional<GiftRequestId> sent) {
  RequestRecordSnapshot snapshot{work.loaded.row, approved_content_of(work.loaded.completed), work.known,
                                 sent.has_value(), context.rules.auto_approved_default};
  snapshot.item_link = item_link_to_write(context.rules, work.loaded.row);
  snapshot.integration_user = context.rules.integration_user;
  if (!sent) return snapshot;
  if (const auto request = context.store.gifts.find_gift_request(*sent)) snapshot.gift_sent = request->gift;
  return snapshot;
}

/// Reads the store first: a later decision is then visible in the CRM, or the save fails on the entry's
/// version.
std::vector<RequestRecordReconciliation> reconcile(const RequestRecordContext& context, const Ids& record_ids,
                                                   std::map<std::string, RequestWork>& works) {
  for (const std::string& record_id : record_ids) works.try_emplace(record_id);
  for (RequestRecordEntry& entry : context.store.request_records.find(record_ids))
    works.at(entry.record_id).known = std::move(entry);
  for (LoadedRequestRecord& record : load_with_defaults(context.records, context.records.find(record_ids))) {
    const auto work = works.find(record.row.id);
    if (work == works.end()) continue;
    work->second.loaded = std::move(record);
    work->second.is_in_crm = true;
  }
  std::map<std::string, GiftRequestId> sent;
  for (const store::RequestRecordGift& record_gift :
       context.store.request_records.find_gifts_by_record(record_ids))
    sent.emplace(record_gift.link.record_id, record_gift.gift_request);
  std::vector<RequestRecordReconciliation> reconciled;
  for (const auto& [record_id, work] : works) {
    const auto gift = sent.find(record_id);
    const bool is_sent = gift != sent.end();
    if (work.is_in_crm)
      reconciled.push_back(reconcile_request_record(
          snapshot_of(context, work, is_sent ? std::optional(gift->second) : std::nullopt), context.now));
    else if (!work.known.record_id.empty())
      reconciled.push_back(reconcile_deleted_request_record(work.known, is_sent, context.now));
  }
  return reconciled;
}

/// The records that may be claimed, and those that are claimed already.
struct Reconciled {
  Ids approved;
  Ids claimed;
};

/// Saves the changes, drops the records that another process changed meanwhile, and writes the others.
Reconciled save_and_write(const RequestRecordContext& context,
                          std::vector<RequestRecordReconciliation> reconciled, RequestRecordBatch& batch) {
  std::vector<RequestRecordEntryUpdate> changes;
  for (const RequestRecordReconciliation& reconciliation : reconciled) {
    batch.stats.warnings.insert(batch.stats.warnings.end(), reconciliation.warnings.begin(),
                                reconciliation.warnings.end());
    if (reconciliation.is_changed) changes.push_back(reconciliation.change);
  }
  const std::set<std::string> saved = save_entries(context.store.request_records, changes, batch);
  std::erase_if(reconciled, [&](const RequestRecordReconciliation& reconciliation) {
    return reconciliation.is_changed && !saved.contains(reconciliation.change.next.record_id);
  });
  std::vector<crm::RequestRecordUpdate> writes;
  for (const RequestRecordReconciliation& reconciliation : reconciled) {
    if (reconciliation.is_written) writes.push_back(reconciliation.write);
  }
  const std::set<std::string> written = write_records(context.records, writes, batch);
  save_withdrawn(context.store.request_records, written, batch);
  Reconciled result;
  for (const RequestRecordReconciliation& one : reconciled) {
    const std::string& record_id = one.change.next.record_id;
    if (one.is_written && !written.contains(record_id))
      continue;  // changed meanwhile: its own change event brings it back
    if (one.may_claim) result.approved.push_back(record_id);
    if (one.must_send) result.claimed.push_back(record_id);
  }
  return result;
}

/// Records whose update the CRM's constraints or triggers rejected are in flight until the next attempt, and
/// so are those whose last update the CRM could not write at present.
void defer_refused(const RequestRecordContext& context, RequestRecordBatch& batch) {
  std::vector<RequestRecordEntryUpdate> changes;
  for (const auto& [record_id, work] : batch.works) {
    const bool is_forgotten = work.is_postponed && !work.known.next_attempt_at;
    if (!work.refusal && is_forgotten)
      changes.push_back(
          deferred_change(work.known, context.now + std::max(work.retry_after_millis, kWriteInFlightMillis)));
    if (!work.refusal) continue;
    batch.stats.warnings.push_back(
        request_record_line(LogEvent::request_record_refused, work.known.number,
                            ": the CRM rejected giftsync's update: " + *work.refusal));
    changes.push_back(deferred_change(
        work.known, context.now + std::max(work.retry_after_millis, kRefusedWriteDelayMillis)));
  }
  save_entries(context.store.request_records, changes, batch);
}

/// Events of records that another process changed meanwhile are not acked.
void ack_change_events(crm::RequestRecords& records,
                       const std::vector<crm::RequestRecordEvent>& change_events,
                       const std::map<std::string, RequestWork>& works) {
  std::vector<std::int64_t> acked;
  for (const crm::RequestRecordEvent& event : change_events) {
    const auto work = works.find(event.record_id);
    if (work == works.end() || !work->second.is_conflicted) acked.push_back(event.id);
  }
  if (!acked.empty()) records.acknowledge(acked);
}

/// Before the events are acknowledged, so that a fault loses no notice.
void notify_approvers(store::Store& store, crm::Crm& crm, const RequestRecordContext& context,
                      const RequestRecordBatch& batch) {
  std::vector<LoadedRequestRecord> waiting;
  for (const auto& [record_id, work] : batch.works) {
    if (work.is_in_crm && work.known.state == store::RequestRecordState::pending)
      waiting.push_back(work.loaded);
  }
  if (!waiting.empty())
    add_approver_notices(store, crm, context.rules.approver_notices(), waiting, context.now);
}

}  // namespace

RequestRecordStepStats request_record_step(store::Store& store, crm::Crm& crm,
                                           const RequestRecordRules& rules, UtcMillis now) {
  const RequestRecordContext context{store, *crm.request_records(), crm.pace().rows_per_read, rules, now};
  const std::vector<crm::RequestRecordEvent> change_events =
      context.records.events(max_change_events(context));
  RequestRecordBatch batch;
  const Ids record_ids = collect_ids(context, change_events, batch.stats);
  if (!record_ids.empty()) {
    const Reconciled reconciled = save_and_write(context, reconcile(context, record_ids, batch.works), batch);
    send_request_records(context, reconciled.approved, reconciled.claimed, batch);
    defer_refused(context, batch);
    if (rules.approver_notices) notify_approvers(store, crm, context, batch);
  }
  if (rules.approver_notices) store.approver_notices.queue_mails(now);
  ack_change_events(context.records, change_events, batch.works);
  return std::move(batch.stats);
}

namespace {

using store::RequestRecordEntry;

/// A record that was deleted in the CRM.
std::optional<RequestRecordCheck> check_deleted(store::RequestRecords& request_records,
                                                const std::string& name) {
  const std::optional<RequestRecordEntry> known = request_records.find_by_number_or_id(name);
  if (!known) return std::nullopt;
  RequestRecordCheck check{known->record_id, known->number, std::nullopt, false, {}};
  check.is_sent = !request_records.find_gifts_by_record(std::span(&known->record_id, 1)).empty();
  RequestRecordProgress progress{true, "", *known, known->next_attempt_at, check.is_sent};
  progress.current.deleted = true;
  check.findings = progress_findings(progress);
  return check;
}

/// The stored entry, with the edits that no daemon has read yet.
RequestRecordEntry current_entry(const LoadedRequestRecord& loaded, const RequestRecordEntry& known,
                                 bool has_gift, const RequestRecordRules& rules, UtcMillis now) {
  RequestRecordSnapshot snapshot{loaded.row, approved_content_of(loaded.completed), known, has_gift,
                                 rules.auto_approved_default};
  snapshot.integration_user = rules.integration_user;
  return reconcile_request_record(snapshot, now).change.next;
}

std::vector<RequestRecordFinding> find_sending_findings(store::Catalogue& catalogue,
                                                        const LoadedRequestRecord& loaded,
                                                        const RequestRecordRules& rules) {
  const auto gift = gift_id_of(loaded.completed);
  const auto item = gift ? catalogue.item(*gift) : std::nullopt;
  SendingFacts facts{item ? &*item : nullptr, loaded.person_found, {}, rules.limits};
  const std::string& sender = loaded.completed.text(F::sender);
  if (!sender.empty()) facts.sender = rules.authorize_senders(std::span(&sender, 1)).front();
  const std::string email = recipient_of(loaded.completed);
  const auto refusals = refusals_of({email}, rules);
  if (const auto refusal = refusals.find(email); refusal != refusals.end()) facts.refusal = refusal->second;
  return sending_findings(loaded.completed, facts);
}

}  // namespace

std::optional<RequestRecordCheck> check_request_record(store::RequestRecords& request_records,
                                                       store::Catalogue& catalogue, crm::Crm& crm,
                                                       const RequestRecordRules& rules, bool requests_enabled,
                                                       const std::string& number_or_id, UtcMillis now) {
  crm::RequestRecords& records = *crm.request_records();
  const std::optional<RequestRecord> row = records.find_one(number_or_id);
  if (!row) return check_deleted(request_records, number_or_id);
  const LoadedRequestRecord loaded = load_with_defaults(records, {*row}).front();
  const std::vector<RequestRecordEntry> found = request_records.find(std::span(&row->id, 1));
  const RequestRecordEntry known = found.empty() ? RequestRecordEntry() : found.front();
  RequestRecordCheck check{
      row->id, row->text(F::number), request_record_status_from_word(row->text(F::status)), false, {}};
  check.is_sent = !request_records.find_gifts_by_record(std::span(&row->id, 1)).empty();
  if (check.is_sent) return check;
  const RequestRecordProgress progress{requests_enabled, row->unreadable,
                                       current_entry(loaded, known, check.is_sent, rules, now),
                                       known.next_attempt_at, check.is_sent};
  check.findings = progress_findings(progress);
  const auto state = progress.current.state;
  const bool has_ended =
      state == store::RequestRecordState::rejected || state == store::RequestRecordState::sent;
  if (has_ended) return check;
  std::vector<RequestRecordFinding> sending = find_sending_findings(catalogue, loaded, rules);
  std::move(sending.begin(), sending.end(), std::back_inserter(check.findings));
  if (!check.findings.empty()) return check;
  if (auto waiting = waiting_finding(progress, now)) check.findings.push_back(std::move(*waiting));
  return check;
}

std::vector<RequestRecordFinding> findings_when_approved(store::Catalogue& catalogue,
                                                         const LoadedRequestRecord& loaded,
                                                         const RequestRecordRules& rules) {
  RequestRecordProgress progress;
  progress.unreadable = loaded.row.unreadable;
  progress.current.state = store::RequestRecordState::approved;
  std::vector<RequestRecordFinding> findings = progress_findings(progress);
  std::vector<RequestRecordFinding> sending = find_sending_findings(catalogue, loaded, rules);
  std::move(sending.begin(), sending.end(), std::back_inserter(findings));
  return findings;
}

std::vector<SenderAuthorization> authorize_senders(store::Accounts& accounts, crm::Directory& directory,
                                                   const TokenStatus& token,
                                                   std::span<const std::string> user_ids, UtcMillis now) {
  std::vector<SenderRef> names;
  for (const std::string& id : user_ids) names.push_back({id, ""});
  std::vector<SenderAuthorization> authorizations;
  for (const SenderInfo& sender : find_senders(accounts, directory, token, names)) {
    std::vector<MissingPrecondition> missing = all_missing_preconditions(sender, now);
    authorizations.push_back({missing.empty() ? sender.account : std::nullopt, std::move(missing)});
  }
  return authorizations;
}

}  // namespace giftsync::sync
