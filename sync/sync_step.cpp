#include "sync/sync_step.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "platform/dependency_pause.h"
#include "sync/batch_decisions.h"
#include "sync/delivery_rules.h"
#include "sync/external_sent_times.h"
#include "sync/gift_record_draft.h"
#include "sync/lifecycle_rules.h"
#include "sync/match_decision.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

using schema::store::CrmSyncState;
using schema::store::Gift;
using schema::store::MatchDecision;
using schema::store::SyncClose;
using RowKind = schema::crm::RowResult::Kind;
using Gifts = std::unordered_map<schema::TransactionId, Gift>;
using SyncStates = std::unordered_map<schema::TransactionId, CrmSyncState>;

struct SyncContext {
  schema::store::Store& store;
  schema::crm::Crm& crm;
  const SyncRules& rules;
  const SyncLease& lease;
  platform::UtcMillis now;
};

template <class Row, class IdOf>
auto by_transaction(std::vector<Row> rows, IdOf id_of) {
  std::unordered_map<schema::TransactionId, Row> indexed;
  indexed.reserve(rows.size());
  for (Row& row : rows) indexed.emplace(id_of(row), std::move(row));
  return indexed;
}

std::string label_of(schema::TransactionId id) {
  return "gift " + std::to_string(id.value) + ": ";
}

std::vector<schema::store::FoldedState> changed_folds(schema::store::Store& store,
                                                      const std::vector<schema::TransactionId>& ids,
                                                      const Gifts& gifts) {
  const std::vector<schema::store::ChangeSpan> effective_spans = store.changes.spans_of(ids);
  std::unordered_map<schema::TransactionId, std::vector<schema::store::ChangeSpan>> spans;
  for (const schema::store::ChangeSpan& span : effective_spans) spans[span.transaction].push_back(span);
  std::vector<const Gift*> all;
  for (const auto& [id, gift] : gifts) all.push_back(&gift);
  const auto external_sent_times = reported_sent_times(store.changes, all, effective_spans);
  std::vector<schema::store::FoldedState> changed;
  for (const auto& [id, gift] : gifts) {
    const schema::store::RecipientTransaction& transaction = gift.transaction;
    const auto reported = external_sent_times.find(id);
    const platform::UtcMillis sent_at =
        reported != external_sent_times.end() ? reported->second : *transaction.times[schema::Status::sent];
    const FoldedStatus folded = fold(sent_at, spans[id], transaction.untimed_status);
    if (folded == state_of(transaction)) continue;
    changed.push_back({id, transaction.version, folded.status, folded.times, folded.has_conflict,
                       next_timer_at(gift, folded)});
  }
  return changed;
}

/// Updates `gifts` as saved; returns how many were. Gifts of which another process saved a newer fold are
/// removed: that process writes them to the CRM.
std::size_t save_folds(schema::store::Store& store, const std::vector<schema::store::FoldedState>& changed,
                       Gifts& gifts) {
  const std::vector<schema::TransactionId> ids = store.sync.save_folded(changed);
  const std::unordered_set<schema::TransactionId> saved(ids.begin(), ids.end());
  for (const schema::store::FoldedState& state : changed) {
    if (!saved.contains(state.transaction)) {
      gifts.erase(state.transaction);
      continue;
    }
    schema::store::RecipientTransaction& transaction = gifts.at(state.transaction).transaction;
    transaction.status = state.status;
    transaction.times = state.times;
    transaction.has_conflict = state.has_conflict;
    ++transaction.version;
  }
  return saved.size();
}

GiftEventKind matched_kind(const MatchDecision& decision) {
  if (!decision.contact_id.empty()) return GiftEventKind::matched_contact;
  return decision.lead_id.empty() ? GiftEventKind::unmatched : GiftEventKind::matched_lead;
}

/// The decisions of a batch, as far as they can be made.
struct Decisions {
  SyncStates states;
  std::string wait_reason;  ///< why gifts without a decision wait (SYNC-68); empty when nothing hinders them
  std::int64_t wait_millis = sync_retry_millis(1);  ///< how long they wait
};

/// The stored decisions of these gifts; decides those of gifts that have none.
Decisions find_or_decide(const SyncContext& context, const std::vector<schema::TransactionId>& ids,
                         const Gifts& gifts, SyncStepStats& stats) {
  const auto id_of = [](const CrmSyncState& sync_state) { return sync_state.transaction; };
  SyncStates sync_states = by_transaction(context.store.sync.find_states(ids), id_of);
  std::vector<const Gift*> undecided;
  for (const schema::TransactionId id : ids) {
    const auto gift = gifts.find(id);
    if (gift != gifts.end() && !sync_states.contains(id)) undecided.push_back(&gift->second);
  }
  if (undecided.empty()) return {std::move(sync_states), ""};
  std::vector<CrmSyncState> decided;
  try {
    decided = context.store.sync.insert_decisions(
        decide_gifts(context.store, context.crm, context.rules, undecided, context.now, stats.warnings));
  } catch (const schema::crm::LookupNotReady& wait) {
    stats.waiting = undecided.size();
    return {std::move(sync_states), wait.what()};
  } catch (const platform::DependencyPause& pause) {
    // The CRM refuses to be asked who they are for, which an admin has to mend.
    if (pause.transient()) throw;
    stats.waiting = undecided.size();
    stats.warnings.emplace_back(pause.what());
    return {std::move(sync_states), pause.what(),
            std::clamp(pause.until().value - context.now.value, sync_retry_millis(1), kMaxSyncRetryMillis)};
  }
  for (const CrmSyncState& one : decided) {
    GiftEvent& event =
        stats.events.emplace_back(gift_event(matched_kind(one.decision), gifts.at(one.transaction)));
    event.matched_id = one.decision.contact_id.empty() ? one.decision.lead_id : one.decision.contact_id;
  }
  sync_states.merge(by_transaction(std::move(decided), id_of));
  return {std::move(sync_states), ""};
}

/// The prices of an adopted record are kept: they were made by rules that giftsync does not know. So is its
/// Sent At.
void keep_existing_values(schema::GiftRecord& record) {
  for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
    const auto field = static_cast<schema::GiftField>(i);
    if (schema::is_preserved_when_absent(field)) record.set(field, {});
  }
}

schema::crm::GiftUpsert row_for(const SyncRules& rules, const Gift& gift, CrmSyncState& sync_state) {
  const bool exists = sync_state.was_written();
  // Link is written once, and signing it costs as much as everything else here.
  const std::string link = exists ? "" : rules.link_of(gift.transaction);
  GiftRecordDraft draft = draft_gift_record(gift, sync_state.decision, link, rules.integration_user);
  for (const std::string& warning : draft.warnings) add_warning(sync_state.decision, warning);
  if (exists && gift.transaction.gift_source == schema::store::kAdoptedGiftSource)
    keep_existing_values(draft.record);
  std::optional<schema::crm::TaskUpsert> task;
  if (!exists && sync_state.task == schema::store::TaskState::wanted)
    task = next_task_write(gift, sync_state, draft.record, rules.tasks, true);
  return {std::move(draft.record), exists, schema::store::has_foreign_id(gift.transaction), sync_state.crm_id,
          std::move(task)};
}

/// Lookups that the CRM refused are cleared in the decision too, so that store and record agree.
void clear_lookups(const schema::crm::GiftUpsert& row, const std::vector<schema::GiftField>& lookups,
                   CrmSyncState& sync_state, std::vector<std::string>& warnings) {
  for (const schema::GiftField field : lookups) {
    clear_lookup(sync_state.decision, field);
    const bool is_association =
        std::find(kAssociationLookups.begin(), kAssociationLookups.end(), field) != kAssociationLookups.end();
    sync_state.needs_relink = sync_state.needs_relink || is_association;
    // Created By and Owner equal Actual Sender: report once.
    if (!is_association && field != schema::GiftField::sender && field != schema::GiftField::actual_sender)
      continue;
    const auto* refused = std::get_if<std::string>(&row.record.get(field));
    const std::string lookup =
        std::string(schema::descriptor_of(field).label) + " " + (refused ? *refused : "");
    add_warning(sync_state.decision, lookup + " is not in the CRM any more: the field stays empty.");
    warnings.push_back(is_association ? label_of(sync_state.transaction) + "its " + lookup +
                                            " is not in the CRM any more and stays empty; "
                                            "\"giftsyncctl rematch --unmatched\" matches it again"
                                      : lookup + " is not in the CRM: the field stays empty");
  }
}

void retry(SyncClose& close, const schema::crm::RowResult& result, const std::string& error,
           platform::UtcMillis now) {
  const std::int64_t failures = close.claim.attempts + 1;
  close.done = false;
  close.is_rejected = result.kind == RowKind::rejected;
  const std::int64_t wait = close.is_rejected ? rejected_retry_millis(failures) : sync_retry_millis(failures);
  const std::int64_t longest = close.is_rejected ? kMaxRejectedRetryMillis : kMaxSyncRetryMillis;
  close.retry_at = now + std::clamp(result.rest_millis, wait, longest);
  close.error = error;
  close.failed_at = now;
}

/// A known Id stays where the CRM does not say one; that of a deleted row names nothing any more.
void keep_crm_id(const schema::crm::RowResult& result, std::string& crm_id) {
  if (result.kind == RowKind::not_found || !result.crm_id.empty()) crm_id = result.crm_id;
}

void apply_result(const schema::crm::GiftUpsert& row, const schema::crm::RowResult& result,
                  platform::UtcMillis now, SyncClose& close, SyncStepStats& stats) {
  CrmSyncState& sync_state = *close.sync_state;
  const std::string gift = label_of(close.claim.transaction);
  keep_crm_id(result, sync_state.crm_id);
  switch (result.kind) {
    case RowKind::created:
    case RowKind::updated:
    case RowKind::unchanged:
      ++(result.kind == RowKind::created   ? stats.created
         : result.kind == RowKind::updated ? stats.updated
                                           : stats.unchanged);
      sync_state.state = schema::store::CrmSyncStatus::written;
      sync_state.written_version = row.record.version;
      sync_state.error.clear();
      clear_lookups(row, result.cleared_lookups, sync_state, stats.warnings);
      close.has_cleared_lookups = !result.cleared_lookups.empty();
      if (result.task_crm_id.empty()) return;
      sync_state.task_crm_id = result.task_crm_id;
      sync_state.task = task_state_after(*row.task, result);
      ++stats.tasks;
      return;
    case RowKind::not_found:
      sync_state.state = schema::store::CrmSyncStatus::deleted;
      stats.warnings.push_back(gift + "its record was deleted in the CRM and is not recreated");
      break;
    case RowKind::rejected:
      sync_state.state = schema::store::CrmSyncStatus::rejected;
      [[fallthrough]];
    case RowKind::retry:
      retry(close, result, result.reason, now);
      stats.warnings.push_back(gift + "the CRM did not accept its record: " + result.reason);
      break;
  }
  ++stats.failed;
  sync_state.error = result.reason;
}

void apply_task_result(const schema::crm::TaskUpsert& row, const schema::crm::RowResult& result,
                       platform::UtcMillis now, SyncClose& close, SyncStepStats& stats) {
  const std::string gift = label_of(row.transaction);
  keep_crm_id(result, close.sync_state->task_crm_id);
  if (result.kind == RowKind::retry || result.kind == RowKind::rejected) {
    ++stats.failed;
    retry(close, result, std::string(kTaskError) + result.reason, now);
    stats.warnings.push_back(gift + "the CRM did not accept its task: " + result.reason);
    return;
  }
  close.sync_state->task = task_state_after(row, result);
  if (result.kind == RowKind::not_found)
    stats.warnings.push_back(gift + result.reason + " and is not recreated");
  else
    ++stats.tasks;
}

/// The claims that are still this owner's: the CRM must not be written for the others.
std::vector<schema::store::SyncClaim> renewed(const SyncContext& context,
                                              const std::vector<schema::store::SyncClaim>& claims,
                                              SyncStepStats& stats) {
  std::vector<schema::store::SyncClaim> held =
      context.store.sync.renew(context.lease.owner, context.lease.millis, claims);
  if (held.size() == claims.size()) return held;
  const std::size_t lost = claims.size() - held.size();
  stats.lost += lost;
  stats.warnings.push_back("the CRM took longer than a claim's " +
                           std::to_string(context.lease.millis / platform::kSecondMillis) +
                           " s: another daemon or command has taken over gifts of this batch");
  return held;
}

/// Leaves the tasks and the states of gifts that are not `held` to their new owner. `due` and `closes` are of
/// the same gifts.
void drop_lost(const std::vector<schema::store::SyncClaim>& held, std::vector<schema::crm::TaskUpsert>& due,
               std::vector<SyncClose*>& closes) {
  if (held.size() == due.size()) return;
  std::unordered_set<schema::TransactionId> ids;
  for (const schema::store::SyncClaim& claim : held) ids.insert(claim.transaction);
  for (SyncClose* close : closes) {
    if (ids.contains(close->claim.transaction)) continue;
    close->done = false;
    close->sync_state.reset();
  }
  std::erase_if(due, [&](const auto& row) { return !ids.contains(row.transaction); });
  std::erase_if(closes, [](const SyncClose* close) { return !close->sync_state; });
}

/// A CRM that takes no tasks for a while does not stop gift records: those of this batch are written already.
std::vector<schema::crm::RowResult> upsert_tasks(const SyncContext& context,
                                                 const std::vector<schema::crm::TaskUpsert>& rows) {
  try {
    return context.crm.tasks().upsert(rows);
  } catch (const platform::DependencyPause& pause) {
    schema::crm::RowResult result{RowKind::retry, pause.what()};
    result.rest_millis = std::max<std::int64_t>(pause.until().value - context.now.value, 0);
    return std::vector(rows.size(), result);
  }
}

/// `rows` and `closes` are of the same gifts.
void write_tasks(const SyncContext& context, const Gifts& gifts,
                 const std::vector<schema::crm::GiftUpsert>& rows, std::vector<SyncClose>& closes,
                 SyncStepStats& stats) {
  std::vector<schema::crm::TaskUpsert> due;
  std::vector<SyncClose*> due_closes;
  std::vector<schema::store::SyncClaim> claims;  // of the due ones
  for (std::size_t i = 0; i < closes.size(); ++i) {
    if (!closes[i].done) continue;
    auto row = next_task_write(gifts.at(closes[i].claim.transaction), *closes[i].sync_state, rows[i].record,
                               context.rules.tasks);
    if (!row) continue;
    due.push_back(std::move(*row));
    due_closes.push_back(&closes[i]);
    claims.push_back(closes[i].claim);
  }
  if (due.empty()) return;
  drop_lost(renewed(context, claims, stats), due, due_closes);
  if (due.empty()) return;
  const std::vector<schema::crm::RowResult> results = upsert_tasks(context, due);
  for (std::size_t i = 0; i < results.size(); ++i)
    apply_task_result(due[i], results[i], context.now, *due_closes[i], stats);
}

/// The close of a claim whose record cannot be written now.
SyncClose put_off(const SyncContext& context, const schema::store::SyncClaim& claim,
                  const std::string& wait_reason, std::int64_t wait_millis = sync_retry_millis(1)) {
  SyncClose close{claim, false, context.now + wait_millis, wait_reason, std::nullopt};
  if (wait_reason.empty())
    close.error = "another daemon is processing it";
  else
    close.is_attempt = false;
  return close;
}

/// Whether an earlier attempt wrote the record and only its task failed.
bool is_only_task_missing(const SyncContext& context, const Gift& gift, const SyncClose& close,
                          const schema::crm::GiftUpsert& row) {
  const CrmSyncState& sync_state = *close.sync_state;
  return close.claim.attempts > 0 && sync_state.state == schema::store::CrmSyncStatus::written &&
         sync_state.written_version == row.record.version &&
         next_task_write(gift, sync_state, row.record, context.rules.tasks);
}

/// Rows of records and the closes of their claims, at the same positions.
struct RecordBatch {
  std::vector<schema::crm::GiftUpsert> rows;
  std::vector<SyncClose> closes;

  void add(schema::crm::GiftUpsert row, SyncClose close) {
    rows.push_back(std::move(row));
    closes.push_back(std::move(close));
  }
};

/// A record is ahead of a row because another process wrote it: the store has that version already. If it
/// does not, nothing here will ever write the record, which an admin has to know.
void refuse_unknown_versions(const SyncContext& context, const RecordBatch& batch,
                             std::vector<schema::crm::RowResult>& results) {
  std::vector<schema::TransactionId> ids;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].is_newer_in_crm) ids.push_back(batch.closes[i].claim.transaction);
  if (ids.empty()) return;
  std::unordered_map<schema::TransactionId, std::int64_t> newest;
  for (const Gift& gift : context.store.gifts.find(ids))
    newest.emplace(gift.transaction.id, gift.transaction.version);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto known = newest.find(batch.closes[i].claim.transaction);
    if (!results[i].is_newer_in_crm || known == newest.end()) continue;
    if (known->second > batch.rows[i].record.version) continue;
    std::string crm_id = std::move(results[i].crm_id);
    results[i] = schema::crm::newer_record_result(known->first);
    results[i].crm_id = std::move(crm_id);
  }
}

void upsert_records(const SyncContext& context, const Gifts& gifts, RecordBatch& batch,
                    SyncStepStats& stats) {
  std::vector<schema::crm::RowResult> results = context.crm.gift_records().upsert(batch.rows);
  refuse_unknown_versions(context, batch, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    apply_result(batch.rows[i], results[i], context.now, batch.closes[i], stats);
    const bool is_created = results[i].kind == RowKind::created;
    if (is_created || results[i].kind == RowKind::updated)
      stats.events.push_back(
          gift_event(is_created ? GiftEventKind::record_created : GiftEventKind::record_updated,
                     gifts.at(batch.closes[i].claim.transaction)));
  }
}

/// Writes records and tasks; returns how each claim is to be closed.
std::vector<SyncClose> write_records(const SyncContext& context,
                                     const std::vector<schema::store::SyncClaim>& claims, const Gifts& gifts,
                                     const Decisions& decisions, SyncStepStats& stats) {
  std::vector<SyncClose> unwritten;
  RecordBatch batch;
  RecordBatch written;  // by an earlier attempt
  for (const schema::store::SyncClaim& claim : claims) {
    const auto gift = gifts.find(claim.transaction);
    const auto sync_state = decisions.states.find(claim.transaction);
    if (gift == gifts.end()) {
      unwritten.push_back(put_off(context, claim, ""));
    } else if (sync_state == decisions.states.end()) {
      unwritten.push_back(put_off(context, claim, decisions.wait_reason, decisions.wait_millis));
    } else if (sync_state->second.state == schema::store::CrmSyncStatus::skipped) {
      ++stats.skipped;
      unwritten.push_back({claim, true, context.now, "", std::nullopt});
    } else {
      SyncClose close{claim, true, context.now, "", sync_state->second};
      schema::crm::GiftUpsert row = row_for(context.rules, gift->second, *close.sync_state);
      RecordBatch& of_kind = is_only_task_missing(context, gift->second, close, row) ? written : batch;
      of_kind.add(std::move(row), std::move(close));
    }
  }
  upsert_records(context, gifts, batch, stats);
  for (std::size_t i = 0; i < written.rows.size(); ++i)
    batch.add(std::move(written.rows[i]), std::move(written.closes[i]));
  write_tasks(context, gifts, batch.rows, batch.closes, stats);
  unwritten.insert(unwritten.end(), batch.closes.begin(), batch.closes.end());
  return unwritten;
}

}  // namespace

std::int64_t sync_lease_millis(const schema::crm::CrmPace& pace) {
  return std::max(kSyncLeaseMillis, 2 * pace.longest_call_millis);
}

/// After each phase the store is in a state from which the batch can be repeated.
SyncStepStats sync_step(schema::store::Store& store, schema::crm::Crm& crm, const SyncRules& rules,
                        const SyncLease& lease, platform::UtcMillis now) {
  const SyncContext context{store, crm, rules, lease, now};
  const std::size_t limit = std::min(crm.pace().rows_per_write, lease.max_rows);
  const std::vector<schema::store::SyncClaim> claims =
      store.sync.claim(lease.owner, lease.millis, limit, now);
  SyncStepStats stats;
  stats.claimed = claims.size();
  stats.more = claims.size() >= limit;
  if (claims.empty()) return stats;
  std::vector<schema::TransactionId> ids;
  for (const schema::store::SyncClaim& claim : claims) ids.push_back(claim.transaction);
  Gifts gifts = by_transaction(store.gifts.find(ids), [](const Gift& gift) { return gift.transaction.id; });
  stats.folded = save_folds(store, changed_folds(store, ids, gifts), gifts);
  const Decisions decisions = find_or_decide(context, ids, gifts, stats);
  const std::vector<schema::store::SyncClaim> held = renewed(context, claims, stats);
  store.sync.close(lease.owner, write_records(context, held, gifts, decisions, stats));
  return stats;
}

}  // namespace giftsync::sync
