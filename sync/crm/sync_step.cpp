#include "sync/crm/sync_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "matching/match_decision.h"
#include "platform/dependency_error.h"
#include "platform/time.h"
#include "schema/contact_normalization.h"
#include "schema/store/gift/erased_address.h"
#include "sync/gift/lifecycle.h"
#include "sync/gift/test_gifts.h"
#include "sync/mail/delivery_rules.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {

// Decides for the gifts of a batch to whom they belong, with as few questions to the CRM as it takes.

using store::CrmSyncState;
using store::Gift;
using store::MatchDecision;

/// The address by which the CRM knows the sender (SYNC-74).
std::string sender_key(const SyncRules& rules, const std::string& address) {
  std::string key = email_key(address);
  const auto alias = rules.sender_aliases.find(key);
  return alias == rules.sender_aliases.end() ? key : alias->second;
}

/// What is asked of the CRM at once. Senders whom a request record names are not asked for.
crm::DecisionQuestions questions_about(const std::vector<const Gift*>& gifts,
                                       const matching::RequestLinks& request_links, const SyncRules& rules) {
  crm::DecisionQuestions questions;
  std::set<std::string> sender_keys;
  for (const Gift* gift : gifts) {
    questions.recipients.push_back(matching::recipient_keys(*gift, rules.match_fields));
    const auto link = request_links.find(gift->request.id);
    const bool is_named = link != request_links.end() && !link->second.sender_id.empty();
    if (!is_named && !gift->request.sender_email.empty())
      sender_keys.insert(sender_key(rules, gift->request.sender_email));
  }
  questions.sender_keys.assign(sender_keys.begin(), sender_keys.end());
  return questions;
}

/// `key`: as of sender_key().
std::vector<std::int64_t> gifts_of_sender(const SyncRules& rules, const std::vector<const Gift*>& gifts,
                                          const std::string& key) {
  std::vector<std::int64_t> ids;
  for (const Gift* gift : gifts)
    if (sender_key(rules, gift->request.sender_email) == key) ids.push_back(gift->transaction.id.value);
  return ids;
}

/// `users`: for each sender key.
void add_senders(const SyncRules& rules, const std::vector<const Gift*>& gifts,
                 const std::vector<std::string>& sender_keys,
                 const std::vector<std::vector<crm::CrmUser>>& users, std::vector<MatchDecision>& decisions,
                 std::vector<LogLine>& warnings) {
  std::map<std::string, std::string> sender_ids;
  for (std::size_t i = 0; i < sender_keys.size(); ++i) {
    if (users[i].empty())
      warnings.push_back({LogEvent::gift_sender_unknown,
                          "no CRM user has the address " + sender_keys[i] + ": Sender stays empty",
                          {LogField("gift", gifts_of_sender(rules, gifts, sender_keys[i])).not_in_text()}});
    sender_ids[sender_keys[i]] = users[i].empty() ? "" : users[i].front().id;
  }
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    const std::string& sender = gifts[i]->request.sender_email;
    // A request record names the sender, or an external gift has none.
    if (!decisions[i].sender_id.empty() || sender.empty()) continue;
    decisions[i].sender_id = sender_ids.at(sender_key(rules, sender));
    if (decisions[i].sender_id.empty())
      matching::add_warning(decisions[i],
                            "No CRM user has the sender's address " + sender + ": Sender stays empty.");
  }
}

/// The sync state of each gift, in order: `decided`, or `skipped` where the rules want no record. Nothing is
/// stored. Adds a sentence to `warnings` for each sender that the CRM does not know. Throws
/// crm::LookupNotReady, and DependencyError when store or CRM fail.
std::vector<CrmSyncState> decide_gifts(store::Store& store, crm::Crm& crm, const SyncRules& rules,
                                       const std::vector<const Gift*>& gifts, UtcMillis now,
                                       std::vector<LogLine>& warnings) {
  // They named rows of another CRM where this one has no request records.
  const matching::RequestLinks request_links = crm.request_records()
                                                   ? matching::request_links_of(store.request_records, gifts)
                                                   : matching::RequestLinks();
  const crm::DecisionQuestions questions = questions_about(gifts, request_links, rules);
  const crm::DecisionFacts facts = crm.directory().look_up(questions);
  std::vector<MatchDecision> decisions =
      matching::match_recipients(crm.directory(), rules.match_fields, questions.recipients, facts);
  // A gift that was sent for a request record gets the associations that the record names (REQ-28).
  matching::apply_explicit_associations(crm, rules.match_fields, gifts, request_links, decisions);
  add_senders(rules, gifts, questions.sender_keys, facts.senders, decisions, warnings);
  const auto task = rules.tasks.enabled ? store::TaskState::wanted : store::TaskState::none;
  std::vector<CrmSyncState> sync_states;
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    const store::RecipientTransaction& transaction = gifts[i]->transaction;
    matching::stamp_deal_stage(decisions[i], *transaction.times[Status::sent], now);
    const auto state =
        matching::status_before_write(matching::associations_of(decisions[i]), rules.skip_unmatched);
    sync_states.push_back({transaction.id, state, now, std::move(decisions[i]), 0, "", false, task});
  }
  return sync_states;
}

}  // namespace

namespace {

using store::CrmSyncState;
using store::Gift;
using store::MatchDecision;
using store::SyncClose;
using RowKind = crm::RowResult::Kind;
using Gifts = std::unordered_map<TransactionId, Gift>;
using SyncStates = std::unordered_map<TransactionId, CrmSyncState>;

struct SyncContext {
  store::Store& store;
  crm::Crm& crm;
  const SyncRules& rules;
  const SyncLease& lease;
  UtcMillis now;
};

template <class Row, class IdOf>
auto by_transaction(std::vector<Row> rows, IdOf id_of) {
  std::unordered_map<TransactionId, Row> indexed;
  indexed.reserve(rows.size());
  for (Row& row : rows) indexed.emplace(id_of(row), std::move(row));
  return indexed;
}

/// `ids`: of those whose row may not have the status of their changes.
std::vector<store::FoldedState> changed_folds(store::Store& store, const std::vector<TransactionId>& ids,
                                              const Gifts& gifts) {
  if (ids.empty()) return {};
  std::vector<const Gift*> all;
  for (const TransactionId id : ids)
    if (const auto gift = gifts.find(id); gift != gifts.end()) all.push_back(&gift->second);
  const std::vector<FoldedStatus> folded = fold_gifts(store.changes, all, store.changes.spans_of(ids));
  std::vector<store::FoldedState> changed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (auto state = changed_state(*all[i], folded[i])) changed.push_back(std::move(*state));
  }
  return changed;
}

/// Updates `gifts` as saved. Gifts of which another process saved a newer fold are
/// removed: that process writes them to the CRM.
void save_folds(store::Store& store, const std::vector<store::FoldedState>& changed, Gifts& gifts,
                SyncStepStats& stats) {
  const std::vector<TransactionId> ids = store.sync.save_folded(changed);
  const std::unordered_set<TransactionId> saved(ids.begin(), ids.end());
  for (const store::FoldedState& state : changed) {
    if (!saved.contains(state.transaction)) {
      gifts.erase(state.transaction);
      continue;
    }
    store::RecipientTransaction& transaction = gifts.at(state.transaction).transaction;
    count_reached(transaction, state.times, stats.reached);
    transaction.status = state.status;
    transaction.times = state.times;
    transaction.has_conflict = state.has_conflict;
    ++transaction.version;
  }
  stats.folded = saved.size();
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
Decisions find_or_decide(const SyncContext& context, const std::vector<TransactionId>& ids,
                         const Gifts& gifts, SyncStepStats& stats) {
  const auto id_of = [](const CrmSyncState& sync_state) { return sync_state.transaction; };
  SyncStates sync_states = by_transaction(context.store.sync.find_states(ids), id_of);
  std::vector<const Gift*> undecided;
  for (const TransactionId id : ids) {
    const auto gift = gifts.find(id);
    if (gift != gifts.end() && !sync_states.contains(id)) undecided.push_back(&gift->second);
  }
  if (undecided.empty()) return {std::move(sync_states), ""};
  std::vector<CrmSyncState> decided;
  try {
    decided = context.store.sync.insert_decisions(
        decide_gifts(context.store, context.crm, context.rules, undecided, context.now, stats.warnings));
  } catch (const crm::LookupNotReady& wait) {
    stats.waiting = undecided.size();
    return {std::move(sync_states), wait.what()};
  } catch (const DependencyPause& pause) {
    // The CRM refuses to be asked who they are for, which an admin has to mend.
    if (pause.transient()) throw;
    stats.waiting = undecided.size();
    stats.warnings.push_back({LogEvent::crm_questions_refused, pause.what()});
    return {std::move(sync_states), pause.what(),
            std::clamp(pause.until().value - context.now.value, sync_retry_millis(1), kMaxSyncRetryMillis)};
  }
  stats.reached[static_cast<std::size_t>(Status::sent)] += decided.size();
  for (const CrmSyncState& state : decided) {
    GiftEvent& event =
        stats.events.emplace_back(gift_event(matched_kind(state.decision), gifts.at(state.transaction)));
    event.matched_id = state.decision.contact_id.empty() ? state.decision.lead_id : state.decision.contact_id;
  }
  sync_states.merge(by_transaction(std::move(decided), id_of));
  return {std::move(sync_states), ""};
}

/// The prices of an adopted record are kept: they were made by rules that giftsync does not know. So is its
/// Sent At.
void keep_existing_values(GiftRecord& record) {
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    if (is_preserved_when_absent(field)) record.set(field, {});
  }
}

crm::GiftUpsert row_for(const SyncRules& rules, const Gift& gift, CrmSyncState& sync_state) {
  const bool exists = sync_state.was_written();
  // Record and task get it when they are made, and signing it costs as much as everything else here.
  const bool is_used = !exists || sync_state.task == store::TaskState::wanted;
  const std::string link = is_used ? rules.link_of(gift.transaction) : "";
  GiftRecordDraft draft = draft_gift_record(gift, sync_state.decision, link, rules.integration_user);
  for (const std::string& warning : draft.warnings) matching::add_warning(sync_state.decision, warning);
  if (exists && gift.transaction.gift_source == store::kAdoptedGiftSource) keep_existing_values(draft.record);
  std::optional<crm::TaskUpsert> task;
  if (!exists && sync_state.task == store::TaskState::wanted)
    task = next_task_write(gift, sync_state, draft.record, rules.tasks, true);
  return {std::move(draft.record), exists, store::has_foreign_id(gift.transaction), sync_state.crm_id,
          std::move(task)};
}

/// Lookups that the CRM refused are cleared in the decision too, so that store and record agree.
void clear_lookups(const crm::GiftUpsert& row, const std::vector<GiftField>& lookups, const Gift& gift,
                   CrmSyncState& sync_state, std::vector<LogLine>& warnings) {
  for (const GiftField field : lookups) {
    matching::clear_lookup(sync_state.decision, field);
    const bool is_association =
        std::find(matching::kAssociationLookups.begin(), matching::kAssociationLookups.end(), field) !=
        matching::kAssociationLookups.end();
    sync_state.needs_relink = sync_state.needs_relink || is_association;
    // Created By and Owner equal Actual Sender: report once.
    if (!is_association && field != GiftField::sender && field != GiftField::actual_sender) continue;
    const auto* refused = std::get_if<std::string>(&row.record.get(field));
    const std::string lookup = std::string(descriptor_of(field).label) + " " + (refused ? *refused : "");
    matching::add_warning(sync_state.decision,
                          lookup + " is not in the CRM any more: the field stays empty.");
    constexpr LogEvent kEvent = LogEvent::gift_lookup_cleared;
    warnings.push_back(is_association ? gift_line(kEvent, gift,
                                                  "its " + lookup +
                                                      " is not in the CRM any more and stays empty; "
                                                      "\"giftsyncctl rematch --unmatched\" matches it again")
                                      : LogLine{kEvent, lookup + " is not in the CRM: the field stays empty",
                                                fields_of(gift)});
  }
}

void retry(SyncClose& close, const crm::RowResult& result, const std::string& error, UtcMillis now) {
  const std::int64_t failures = close.claim.attempts + 1;
  close.done = false;
  close.is_rejected = result.kind == RowKind::rejected;
  const std::int64_t wait = close.is_rejected ? rejected_retry_millis(failures) : sync_retry_millis(failures);
  const std::int64_t longest = close.is_rejected ? kMaxRejectedRetryMillis : kMaxSyncRetryMillis;
  close.retry_at = now + std::clamp(result.retry_after_millis, wait, longest);
  close.error = error;
  close.failed_at = now;
}

/// A known Id stays where the CRM does not say one; that of a deleted row names nothing any more.
void keep_crm_id(const crm::RowResult& result, std::string& crm_id) {
  if (result.kind == RowKind::not_found || !result.crm_id.empty()) crm_id = result.crm_id;
}

void apply_result(const crm::GiftUpsert& row, const crm::RowResult& result, const Gift& gift, UtcMillis now,
                  SyncClose& close, SyncStepStats& stats) {
  CrmSyncState& sync_state = *close.sync_state;
  keep_crm_id(result, sync_state.crm_id);
  switch (result.kind) {
    case RowKind::created:
    case RowKind::updated:
    case RowKind::unchanged:
      ++(result.kind == RowKind::created   ? stats.created
         : result.kind == RowKind::updated ? stats.updated
                                           : stats.unchanged);
      sync_state.state = store::CrmSyncStatus::written;
      sync_state.written_version = row.record.version;
      sync_state.error.clear();
      clear_lookups(row, result.cleared_lookups, gift, sync_state, stats.warnings);
      close.has_cleared_lookups = !result.cleared_lookups.empty();
      if (result.task_crm_id.empty()) return;
      sync_state.task_crm_id = result.task_crm_id;
      sync_state.task = task_state_after(*row.task, result);
      ++stats.tasks;
      return;
    case RowKind::not_found:
      sync_state.state = store::CrmSyncStatus::deleted;
      stats.warnings.push_back(gift_line(LogEvent::gift_record_deleted, gift,
                                         "its record was deleted in the CRM and is not recreated"));
      break;
    case RowKind::rejected:
      sync_state.state = store::CrmSyncStatus::rejected;
      [[fallthrough]];
    case RowKind::retry:
      retry(close, result, result.reason, now);
      stats.warnings.push_back(gift_line(LogEvent::gift_record_refused, gift,
                                         "the CRM did not accept its record: " + result.reason));
      break;
  }
  ++stats.failed;
  sync_state.error = result.reason;
}

void apply_task_result(const crm::TaskUpsert& row, const crm::RowResult& result, const Gift& gift,
                       UtcMillis now, SyncClose& close, SyncStepStats& stats) {
  keep_crm_id(result, close.sync_state->task_crm_id);
  if (result.kind == RowKind::retry || result.kind == RowKind::rejected) {
    ++stats.failed;
    retry(close, result, std::string(kTaskError) + result.reason, now);
    stats.warnings.push_back(
        gift_line(LogEvent::gift_task_refused, gift, "the CRM did not accept its task: " + result.reason));
    return;
  }
  close.sync_state->task = task_state_after(row, result);
  if (result.kind == RowKind::not_found)
    stats.warnings.push_back(
        gift_line(LogEvent::gift_task_deleted, gift, result.reason + " and is not recreated"));
  else
    ++stats.tasks;
}

/// The claims that are still this owner's: the CRM must not be written for the others.
std::vector<store::SyncClaim> renewed(const SyncContext& context, const std::vector<store::SyncClaim>& claims,
                                      SyncStepStats& stats) {
  std::vector<store::SyncClaim> held =
      context.store.sync.renew(context.lease.owner, context.lease.millis, claims);
  if (held.size() == claims.size()) return held;
  const std::size_t lost = claims.size() - held.size();
  stats.lost += lost;
  stats.warnings.push_back(
      {LogEvent::crm_claims_lost, "the CRM took longer than a claim's " +
                                      std::to_string(context.lease.millis / kSecondMillis) +
                                      " s: another daemon or command has taken over gifts of this batch"});
  return held;
}

/// Leaves the tasks and the states of gifts that are not `held` to their new owner. `due` and `closes` are of
/// the same gifts.
void drop_lost(const std::vector<store::SyncClaim>& held, std::vector<crm::TaskUpsert>& due,
               std::vector<SyncClose*>& closes) {
  if (held.size() == due.size()) return;
  std::unordered_set<TransactionId> ids;
  for (const store::SyncClaim& claim : held) ids.insert(claim.transaction);
  for (SyncClose* close : closes) {
    if (ids.contains(close->claim.transaction)) continue;
    close->done = false;
    close->sync_state.reset();
  }
  std::erase_if(due, [&](const auto& row) { return !ids.contains(row.transaction); });
  std::erase_if(closes, [](const SyncClose* close) { return !close->sync_state; });
}

/// A CRM that takes no tasks for a while does not stop gift records: those of this batch are written already.
std::vector<crm::RowResult> upsert_tasks(const SyncContext& context,
                                         const std::vector<crm::TaskUpsert>& rows) {
  try {
    return context.crm.tasks().upsert(rows);
  } catch (const DependencyPause& pause) {
    crm::RowResult result{RowKind::retry, pause.what()};
    result.retry_after_millis = std::max<std::int64_t>(pause.until().value - context.now.value, 0);
    return std::vector(rows.size(), result);
  }
}

/// Rows of records, the closes of their claims and the owners of their new tasks, at the same positions.
struct RecordBatch {
  std::vector<crm::GiftUpsert> rows;
  std::vector<SyncClose> closes;
  std::vector<std::string> task_owners = {};

  void add(crm::GiftUpsert row, SyncClose close) {
    rows.push_back(std::move(row));
    closes.push_back(std::move(close));
  }
};

void write_tasks(const SyncContext& context, const Gifts& gifts, RecordBatch& batch, SyncStepStats& stats) {
  std::vector<SyncClose>& closes = batch.closes;
  std::vector<crm::TaskUpsert> due;
  std::vector<SyncClose*> due_closes;
  std::vector<store::SyncClaim> claims;  // of the due ones
  for (std::size_t i = 0; i < closes.size(); ++i) {
    if (!closes[i].done) continue;
    auto row = next_task_write(gifts.at(closes[i].claim.transaction), *closes[i].sync_state,
                               batch.rows[i].record, context.rules.tasks);
    if (!row) continue;
    row->owner_id = batch.task_owners[i];
    due.push_back(std::move(*row));
    due_closes.push_back(&closes[i]);
    claims.push_back(closes[i].claim);
  }
  if (due.empty()) return;
  drop_lost(renewed(context, claims, stats), due, due_closes);
  if (due.empty()) return;
  const std::vector<crm::RowResult> results = upsert_tasks(context, due);
  for (std::size_t i = 0; i < results.size(); ++i)
    apply_task_result(due[i], results[i], gifts.at(due[i].transaction), context.now, *due_closes[i], stats);
}

/// The close of a claim whose record cannot be written now.
SyncClose put_off(const SyncContext& context, const store::SyncClaim& claim, const std::string& wait_reason,
                  std::int64_t wait_millis = sync_retry_millis(1)) {
  SyncClose close{claim, false, context.now + wait_millis, wait_reason, std::nullopt};
  if (wait_reason.empty())
    close.error = "another daemon is processing it";
  else
    close.is_attempt = false;
  return close;
}

/// Whether an earlier attempt wrote the record and only its task failed.
bool is_only_task_missing(const SyncContext& context, const Gift& gift, const SyncClose& close,
                          const crm::GiftUpsert& row) {
  const CrmSyncState& sync_state = *close.sync_state;
  return close.claim.attempts > 0 && sync_state.state == store::CrmSyncStatus::written &&
         sync_state.written_version == row.record.version &&
         next_task_write(gift, sync_state, row.record, context.rules.tasks);
}

std::string owner_in(const GiftRecord& record) {
  const auto* owner = std::get_if<std::string>(&record.get(GiftField::owner));
  return owner ? *owner : std::string();
}

/// Asks about users other than the integration user, as far as a setting needs it.
void look_up_owners(const SyncRules& rules, crm::Directory& directory, std::set<std::string> accounts,
                    std::set<std::string> users, OwnerFacts& facts) {
  accounts.erase("");
  if (rules.tasks.assignee == TaskAssignee::account_owner && !accounts.empty()) {
    const std::vector<std::string> ids(accounts.begin(), accounts.end());
    const std::vector<std::string> owners = directory.find_account_owners(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) facts.of_account[ids[i]] = owners[i];
    users.insert(owners.begin(), owners.end());
  }
  for (const std::string& user : {std::string(), rules.fallback_owner, rules.integration_user})
    users.erase(user);
  if (rules.fallback_owner.empty() || users.empty()) return;
  const std::vector<std::string> ids(users.begin(), users.end());
  const std::vector<std::optional<crm::CrmUser>> found = directory.find_users_by_id(ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (!found[i] || !found[i]->active) facts.unusable.insert(ids[i]);
}

/// Names the owners of the rows that will be made (SYNC-75, SYNC-77).
void assign_owners(const SyncContext& context, RecordBatch& batch) {
  const SyncRules& rules = context.rules;
  std::set<std::string> accounts;
  std::set<std::string> users;
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const CrmSyncState& state = *batch.closes[i].sync_state;
    const bool has_new_task = state.task == store::TaskState::wanted && rules.tasks.enabled;
    if (batch.rows[i].exists && !has_new_task) continue;
    users.insert(owner_in(batch.rows[i].record));
    if (!has_new_task) continue;
    accounts.insert(state.decision.account_id);
    if (rules.tasks.assignee == TaskAssignee::sender) users.insert(state.decision.sender_id);
  }
  OwnerFacts facts;
  try {
    look_up_owners(rules, context.crm.directory(), std::move(accounts), std::move(users), facts);
  } catch (const DependencyPause& pause) {
    // Records are written all the same: the CRM refuses only to be asked.
    if (pause.transient()) throw;
  }
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    crm::GiftUpsert& row = batch.rows[i];
    Owners owners = owners_of(owner_in(row.record), batch.closes[i].sync_state->decision,
                              rules.tasks.assignee, rules.fallback_owner, facts);
    if (row.task) row.task->owner_id = owners.task;
    if (!owners.record.empty()) row.record.set(GiftField::owner, std::move(owners.record));
    batch.task_owners.push_back(std::move(owners.task));
  }
}

/// A record is ahead of a row because another process wrote it: the store has that version already. If it
/// does not, nothing here will ever write the record, which an admin has to know.
void refuse_unknown_versions(const SyncContext& context, const RecordBatch& batch,
                             std::vector<crm::RowResult>& results) {
  std::vector<TransactionId> ids;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].is_newer_in_crm) ids.push_back(batch.closes[i].claim.transaction);
  if (ids.empty()) return;
  std::unordered_map<TransactionId, std::int64_t> newest;
  for (const Gift& gift : context.store.gifts.find(ids))
    newest.emplace(gift.transaction.id, gift.transaction.version);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto known = newest.find(batch.closes[i].claim.transaction);
    if (!results[i].is_newer_in_crm || known == newest.end()) continue;
    if (known->second > batch.rows[i].record.version) continue;
    std::string crm_id = std::move(results[i].crm_id);
    results[i] = crm::newer_record_result(known->first);
    results[i].crm_id = std::move(crm_id);
  }
}

void upsert_records(const SyncContext& context, const Gifts& gifts, RecordBatch& batch,
                    SyncStepStats& stats) {
  std::vector<crm::RowResult> results = context.crm.gift_records().upsert(batch.rows);
  refuse_unknown_versions(context, batch, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Gift& gift = gifts.at(batch.closes[i].claim.transaction);
    apply_result(batch.rows[i], results[i], gift, context.now, batch.closes[i], stats);
    if (batch.closes[i].sync_state->state == store::CrmSyncStatus::written && batch.closes[i].done)
      stats.written_since.push_back(batch.closes[i].claim.due_since);
    const bool is_created = results[i].kind == RowKind::created;
    if (is_created || results[i].kind == RowKind::updated)
      stats.events.push_back(
          gift_event(is_created ? GiftEventKind::record_created : GiftEventKind::record_updated, gift));
  }
}

/// A CRM that is its owner's gets no mark over what it knows of an erased person (GUARD-18).
bool is_left_as_it_is(crm::Crm& crm, const Gift& gift) {
  return store::is_erased_address(gift.transaction.email) && crm.person_rows() == nullptr;
}

/// Writes records and tasks; returns how each claim is to be closed.
std::vector<SyncClose> write_records(const SyncContext& context, const std::vector<store::SyncClaim>& claims,
                                     const Gifts& gifts, const Decisions& decisions, SyncStepStats& stats) {
  std::vector<SyncClose> unwritten;
  RecordBatch batch;
  RecordBatch written;  // by an earlier attempt
  for (const store::SyncClaim& claim : claims) {
    const auto gift = gifts.find(claim.transaction);
    const auto sync_state = decisions.states.find(claim.transaction);
    if (gift == gifts.end()) {
      unwritten.push_back(put_off(context, claim, ""));
    } else if (sync_state == decisions.states.end()) {
      unwritten.push_back(put_off(context, claim, decisions.wait_reason, decisions.wait_millis));
    } else if (sync_state->second.state == store::CrmSyncStatus::skipped ||
               is_left_as_it_is(context.crm, gift->second)) {
      ++stats.skipped;
      unwritten.push_back({claim, true, context.now, "", std::nullopt});
    } else {
      SyncClose close{claim, true, context.now, "", sync_state->second};
      crm::GiftUpsert row = row_for(context.rules, gift->second, *close.sync_state);
      RecordBatch& of_kind = is_only_task_missing(context, gift->second, close, row) ? written : batch;
      of_kind.add(std::move(row), std::move(close));
    }
  }
  // Both before anything is written: a question that fails leaves the batch to be repeated as it was.
  assign_owners(context, batch);
  assign_owners(context, written);
  upsert_records(context, gifts, batch, stats);
  for (std::size_t i = 0; i < written.rows.size(); ++i) {
    batch.add(std::move(written.rows[i]), std::move(written.closes[i]));
    batch.task_owners.push_back(std::move(written.task_owners[i]));
  }
  write_tasks(context, gifts, batch, stats);
  unwritten.insert(unwritten.end(), batch.closes.begin(), batch.closes.end());
  return unwritten;
}

/// The decisions about test gifts, which are not stored: a rematch finds none. While the CRM is not to be
/// asked they match nothing, and `missing` says why.
std::vector<MatchDecision> decide_test_gifts(const SyncContext& context,
                                             const std::vector<const Gift*>& gifts, std::string& missing) {
  std::vector<MatchDecision> decisions(gifts.size());
  std::vector<LogLine> warnings;
  bool is_spare = false;
  try {
    context.crm.require_spare_calls();
    is_spare = true;
    const auto states = decide_gifts(context.store, context.crm, context.rules, gifts, context.now, warnings);
    for (std::size_t i = 0; i < states.size(); ++i) decisions[i] = states[i].decision;
  } catch (const crm::LookupNotReady& wait) {
    missing = std::string("It was not matched: ") + wait.what();
  } catch (const DependencyError& fault) {
    if (fault.transient() && is_spare) throw;  // they wait like others
    missing = std::string("It was not matched: ") + fault.what();
  }
  return decisions;
}

/// Keeps what the records of the test gifts would be instead of writing them (TEST-3), and closes their
/// claims; `claims` and `gifts` keep those of the others.
std::vector<SyncClose> record_test_gifts(const SyncContext& context, std::vector<store::SyncClaim>& claims,
                                         Gifts& gifts) {
  std::vector<const Gift*> tests;
  for (const auto& [id, gift] : gifts)
    if (gift.transaction.is_test) tests.push_back(&gift);
  if (tests.empty()) return {};
  std::string missing;
  const std::vector<MatchDecision> decisions = decide_test_gifts(context, tests, missing);
  std::map<TransactionId, std::string> records;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    GiftRecordDraft draft =
        draft_gift_record(*tests[i], decisions[i], context.rules.link_of(tests[i]->transaction),
                          context.rules.integration_user);
    Owners owners = owners_of(owner_in(draft.record), decisions[i], TaskAssignee::owner,
                              context.rules.fallback_owner, {});
    if (!owners.record.empty()) draft.record.set(GiftField::owner, std::move(owners.record));
    std::vector<std::string> warnings = std::move(draft.warnings);
    // The reason names other people of the CRM, and a key's caller may not see those (VALID-4).
    for (const std::string& text : {decisions[i].warnings, missing})
      if (!text.empty()) warnings.push_back(text);
    records[tests[i]->transaction.id] = test_record_json(draft.record, warnings);
  }
  context.store.test_gifts.save_records(records);
  std::vector<SyncClose> closes;
  std::erase_if(claims, [&](const store::SyncClaim& claim) {
    if (!records.contains(claim.transaction)) return false;
    closes.push_back({claim, true, context.now, "", std::nullopt});
    gifts.erase(claim.transaction);
    return true;
  });
  return closes;
}

}  // namespace

std::int64_t sync_lease_millis(const crm::CrmPace& pace) {
  return std::max(kSyncLeaseMillis, 2 * pace.longest_call_millis);
}

/// After each phase the store is in a state from which the batch can be repeated.
SyncStepStats sync_step(store::Store& store, crm::Crm& crm, const SyncRules& rules, const SyncLease& lease,
                        UtcMillis now) {
  const SyncContext context{store, crm, rules, lease, now};
  const std::size_t limit = std::min(crm.pace().rows_per_write, lease.max_rows);
  std::vector<store::SyncClaim> claims = store.sync.claim(lease.owner, lease.millis, limit, now);
  SyncStepStats stats;
  stats.claimed = claims.size();
  stats.more = claims.size() >= limit;
  if (claims.empty()) return stats;
  std::vector<TransactionId> ids;
  std::vector<TransactionId> to_fold;
  for (const store::SyncClaim& claim : claims) {
    ids.push_back(claim.transaction);
    if (!claim.is_folded) to_fold.push_back(claim.transaction);
  }
  Gifts gifts = by_transaction(store.gifts.find(ids), [](const Gift& gift) { return gift.transaction.id; });
  save_folds(store, changed_folds(store, to_fold, gifts), gifts, stats);
  // First: what hinders the CRM's own gifts does not hinder these.
  if (const auto closes = record_test_gifts(context, claims, gifts); !closes.empty()) {
    store.sync.close(lease.owner, closes);
    std::erase_if(ids, [&](TransactionId id) {
      return std::ranges::any_of(closes, [&](const auto& close) { return close.claim.transaction == id; });
    });
    if (claims.empty()) return stats;
  }
  const Decisions decisions = find_or_decide(context, ids, gifts, stats);
  const std::vector<store::SyncClaim> held = renewed(context, claims, stats);
  store.sync.close(lease.owner, write_records(context, held, gifts, decisions, stats));
  return stats;
}

}  // namespace giftsync::sync
