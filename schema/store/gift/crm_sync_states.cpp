// The match decision of a gift and the state of its record in the CRM: the sync states.
#include <cstdlib>
#include <set>

#include "schema/enums.h"
#include "schema/gift_record.h"
#include "schema/sql/database.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/gift/sync_queue.h"
#include "schema/store/statements/bounded_queries.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {

using soci::use;
using Type = sql::BulkInsert::Type;

constexpr auto kCrmSyncStatuses = enum_words<CrmSyncStatus>({{CrmSyncStatus::decided, "decided"},
                                                             {CrmSyncStatus::written, "written"},
                                                             {CrmSyncStatus::skipped, "skipped"},
                                                             {CrmSyncStatus::deleted, "deleted"},
                                                             {CrmSyncStatus::rejected, "rejected"}});
constexpr auto kTaskStates = enum_words<TaskState>({{TaskState::none, "none"},
                                                    {TaskState::wanted, "wanted"},
                                                    {TaskState::open, "open"},
                                                    {TaskState::completed, "completed"},
                                                    {TaskState::deleted, "deleted"}});

}  // namespace

using CrmSyncStatusWord =
    sql::WordConversion<CrmSyncStatus, crm_sync_status_from_word, CrmSyncStatus::decided>;
std::optional<TaskState> task_state_from_word(std::string_view word) {
  return kTaskStates.parse(word);
}
using TaskStateWord = sql::WordConversion<TaskState, task_state_from_word, TaskState::none>;

}  // namespace giftsync::store

template <>
struct soci::type_conversion<giftsync::store::CrmSyncStatus> : giftsync::store::CrmSyncStatusWord {};
template <>
struct soci::type_conversion<giftsync::store::TaskState> : giftsync::store::TaskStateWord {};

namespace giftsync::store {
namespace {

// One field a line.
// clang-format off
constexpr auto kCrmSyncStateFields = record_fields(
    "crm_sync_state",
    field<&CrmSyncState::transaction>("transaction_id"),
    field<&CrmSyncState::state>("state"),
    field<&CrmSyncState::decided_at>("decided_at"),
    field<&CrmSyncState::decision, &MatchDecision::contact_id>("contact_id"),
    field<&CrmSyncState::decision, &MatchDecision::account_id>("account_id"),
    field<&CrmSyncState::decision, &MatchDecision::lead_id>("lead_id"),
    field<&CrmSyncState::decision, &MatchDecision::opportunity_id>("opportunity_id"),
    field<&CrmSyncState::decision, &MatchDecision::deal_stage>("deal_stage"),
    field<&CrmSyncState::decision, &MatchDecision::sender_id>("sender_id"),
    field<&CrmSyncState::decision, &MatchDecision::reason>("reason"),
    field<&CrmSyncState::decision, &MatchDecision::warnings>("warnings"),
    field<&CrmSyncState::written_version>("written_version"),
    field<&CrmSyncState::error>("error"),
    field<&CrmSyncState::needs_relink>("needs_relink"),
    field<&CrmSyncState::task>("task"),
    field<&CrmSyncState::linked_by>("linked_by"),
    field<&CrmSyncState::crm_id>("crm_id"),
    field<&CrmSyncState::task_crm_id>("task_crm_id"));
// clang-format on

const std::string kCrmSyncStateColumns = sql::select_list(kCrmSyncStateFields);

std::vector<CrmSyncState> select_sync_states(soci::session& session, std::span<const TransactionId> ids) {
  sql::PreparedQuery row(session, "SELECT " + kCrmSyncStateColumns + " FROM crm_sync_state WHERE " +
                                      sql::in_list(session, "transaction_id", "list", false) +
                                      " ORDER BY transaction_id");
  std::vector<CrmSyncState> found;
  found.reserve(ids.size());
  row.each_row({sql::list_of(session, ids)},
               [&] { found.push_back(sql::read_record(kCrmSyncStateFields, row)); });
  return found;
}

/// Returns whether it was still the decision that had been read.
bool update_decision(soci::session& session, const std::string& clock,
                     const DecisionUpdate& decision_update) {
  const CrmSyncState& sync_state = decision_update.sync_state;
  const MatchDecision& d = sync_state.decision;
  const std::string state(to_word(sync_state.state));
  const std::string task(to_word(sync_state.task));
  soci::statement update(session);
  std::string text =
      "UPDATE crm_sync_state SET decided_at = :decided, contact_id = :contact, account_id = :account, "
      "lead_id = :lead, opportunity_id = :opportunity, deal_stage = :stage, reason = :reason, "
      "warnings = :warnings, needs_relink = :needs, linked_by = :linked_by";
  update.exchange(use(sync_state.decided_at));
  for (const std::string* text_value :
       {&d.contact_id, &d.account_id, &d.lead_id, &d.opportunity_id, &d.deal_stage, &d.reason, &d.warnings})
    update.exchange(use(*text_value));
  update.exchange(use(sync_state.needs_relink));
  update.exchange(use(sync_state.linked_by));
  // An existing record's state is owned by the sync worker; a record to be created must not have been created
  // since it was read.
  if (decision_update.create_record) {
    text += ", state = :state, task = :task";
    update.exchange(use(state));
    update.exchange(use(task));
  }
  text += " WHERE transaction_id = :id AND decided_at = :read";
  update.exchange(use(sync_state.transaction));
  update.exchange(use(decision_update.expected_decided_at));
  if (decision_update.create_record) {
    text +=
        " AND written_version = :version AND NOT EXISTS (SELECT 1 FROM crm_outbox m WHERE m.transaction_id = "
        "crm_sync_state.transaction_id AND m.lease_until >= " +
        clock + ")";
    update.exchange(use(sync_state.written_version));
  }
  update.alloc();
  update.prepare(text, sql::kRunOnce);
  update.define_and_bind();
  update.execute(true);
  return update.get_affected_rows() == 1;
}

/// With the condition of the index that finds these gifts.
std::string condition_of(RematchScope scope) {
  switch (scope) {
    case RematchScope::unmatched:
      return "((contact_id = '' AND lead_id = '') OR needs_relink = 1) AND state <> 'deleted'";
    case RematchScope::needs_relink:
      return "needs_relink = 1 AND state <> 'deleted'";
    case RematchScope::linked_to_lead:
      return "lead_id <> '' AND state <> 'deleted'";
  }
  std::abort();  // a value outside its enumeration: a bug
}

/// Likewise; decided and written ones, nearly all of them, need no index.
std::string condition_of(CrmSyncStatus state) {
  std::string condition = "state = '" + std::string(to_word(state)) + "'";
  if (state == CrmSyncStatus::decided || state == CrmSyncStatus::written) return condition;
  return condition + " AND state IN ('skipped', 'deleted', 'rejected')";
}

/// The sync_states above `after` that fulfil `where`, in the order of their transactions.
std::vector<CrmSyncState> select_page(soci::session& session, std::string_view where, TransactionId after,
                                      std::size_t limit) {
  const std::vector<TransactionId> ids = sql::select_column<TransactionId>(
      session,
      "SELECT transaction_id FROM crm_sync_state WHERE " + std::string(where) +
          " AND transaction_id > :after ORDER BY transaction_id LIMIT " + std::to_string(limit),
      use(after));
  return select_sync_states(session, ids);
}

}  // namespace

bool CrmSyncState::has_id_conflict() const {
  return state == CrmSyncStatus::rejected && error == id_conflict_reason(transaction);
}

std::string_view to_word(CrmSyncStatus state) {
  return kCrmSyncStatuses.word_of(state);
}
std::optional<CrmSyncStatus> crm_sync_status_from_word(std::string_view word) {
  return kCrmSyncStatuses.parse(word);
}

std::string_view to_word(TaskState state) {
  return kTaskStates.word_of(state);
}

void insert_sync_states(soci::session& session, std::span<const CrmSyncState> sync_states) {
  sql::BulkInsert rows(session, kCrmSyncStateFields.table, sql::bulk_columns(kCrmSyncStateFields),
                       "ON CONFLICT DO NOTHING");
  for (const CrmSyncState& sync_state : sync_states) rows.add(sql::cells_of(kCrmSyncStateFields, sync_state));
  rows.run(session);
}

std::vector<CrmSyncState> SyncQueue::insert_decisions(std::span<const CrmSyncState> decisions) {
  if (decisions.empty()) return {};
  return database_->write([&](soci::session& session) {
    insert_sync_states(session, decisions);
    std::vector<TransactionId> ids;
    for (const CrmSyncState& sync_state : decisions) ids.push_back(sync_state.transaction);
    return select_sync_states(session, ids);
  });
}

std::vector<CrmSyncState> SyncQueue::find_states(std::span<const TransactionId> transactions) {
  return database_->read([&](soci::session& session) { return select_sync_states(session, transactions); });
}

std::vector<CrmSyncState> SyncQueue::list_states_in(CrmSyncStatus state, TransactionId after,
                                                    std::size_t limit) {
  return database_->snapshot(
      [&](soci::session& session) { return select_page(session, condition_of(state), after, limit); });
}

std::vector<CrmSyncState> SyncQueue::list_states_to_rematch(RematchScope scope, TransactionId after,
                                                            std::size_t limit) {
  return database_->snapshot(
      [&](soci::session& session) { return select_page(session, condition_of(scope), after, limit); });
}

std::vector<TransactionId> SyncQueue::update_decisions(std::span<const DecisionUpdate> decisions,
                                                       UtcMillis now) {
  if (decisions.empty()) return {};
  const std::string clock(sql::database_now(database_->dialect()));
  return database_->write([&](soci::session& session) {
    std::vector<TransactionId> saved;
    std::vector<TransactionId> to_make;
    for (const DecisionUpdate& decision : decisions) {
      if (!update_decision(session, clock, decision)) continue;
      saved.push_back(decision.sync_state.transaction);
      if (decision.create_record) to_make.push_back(decision.sync_state.transaction);
      if (decision.action) insert_actions(session, std::span(&*decision.action, 1));
      if (decision.audit) insert_audit_event(session, *decision.audit);
    }
    enqueue_sync(session, to_make, now);
    return saved;
  });
}

std::int64_t SyncQueue::count_states(CrmSyncStatus state) {
  return database_->read([&](soci::session& session) {
    return count_bounded(session, "crm_sync_state WHERE " + condition_of(state));
  });
}

std::int64_t SyncQueue::forget_crm_ids() {
  const std::string next =
      "SELECT transaction_id FROM crm_sync_state WHERE transaction_id > :after AND (crm_id <> '' OR "
      "task_crm_id <> '') ORDER BY transaction_id LIMIT " +
      std::to_string(sql::Database::kMaxRowsPerBatch);
  const std::string update = "UPDATE crm_sync_state SET crm_id = '', task_crm_id = '' WHERE " +
                             sql::in_list(database_->dialect(), "transaction_id", "list", false);
  std::int64_t all = 0;
  for (std::int64_t after = 0;;) {
    const auto ids = database_->write([&](soci::session& session) {
      auto found = sql::select_column<std::int64_t>(session, next, use(after));
      const std::string list = sql::list_of(session, found);
      if (!found.empty()) session << update, use(list);
      return found;
    });
    if (ids.empty()) return all;
    all += static_cast<std::int64_t>(ids.size());
    after = ids.back();
  }
}

// Ends claims of the sync queue: saves their sync states and releases or deletes the rows.

namespace {

/// Not over a decision that an admin's command saved meanwhile.
void clear_lookups(soci::session& session, const CrmSyncState& sync_state) {
  const MatchDecision& d = sync_state.decision;
  session << "UPDATE crm_sync_state SET contact_id = :contact, account_id = :account, lead_id = :lead, "
             "opportunity_id = :opportunity, deal_stage = :stage, sender_id = :sender, needs_relink = :needs "
             "WHERE transaction_id = :id AND decided_at = :decided",
      use(d.contact_id), use(d.account_id), use(d.lead_id), use(d.opportunity_id), use(d.deal_stage),
      use(d.sender_id), use(sync_state.needs_relink), use(sync_state.transaction), use(sync_state.decided_at);
}

/// Only of gifts that are still claimed by `owner`: another one has taken over the others.
void update_sync_states(soci::session& session, const std::string& owner, std::span<const SyncClose> closes) {
  sql::BulkRows rows(session, {{"transaction_id", Type::integer},
                               {"state", Type::text},
                               {"written_version", Type::integer},
                               {"error", Type::text},
                               {"warnings", Type::text},
                               {"task", Type::text},
                               {"crm_id", Type::text},
                               {"task_crm_id", Type::text},
                               {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    if (!close.sync_state) continue;
    const CrmSyncState& sync_state = *close.sync_state;
    rows.add({sync_state.transaction.value, to_word(sync_state.state), sync_state.written_version,
              sync_state.error, sync_state.decision.warnings, to_word(sync_state.task), sync_state.crm_id,
              sync_state.task_crm_id, owner});
  }
  const std::string is_held =
      " AND EXISTS (SELECT 1 FROM crm_outbox o WHERE o.transaction_id = m.transaction_id AND o.lease_owner "
      "= ";
  rows.run(
      session,
      "UPDATE crm_sync_state AS m SET state = :state, written_version = :written_version, error = :error, "
      "warnings = :warnings, task = :task, crm_id = :crm_id, task_crm_id = :task_crm_id WHERE transaction_id "
      "= :transaction_id AND written_version <= "
      ":written_version" +
          is_held + ":lease_owner)",
      "UPDATE crm_sync_state m SET state = input_row.state, written_version = input_row.written_version, "
      "error = input_row.error, warnings = input_row.warnings, task = input_row.task, crm_id = "
      "input_row.crm_id, task_crm_id = input_row.task_crm_id FROM " +
          rows.as_table() +
          " WHERE m.transaction_id = input_row.transaction_id AND m.written_version <= "
          "input_row.written_version" +
          is_held + "input_row.lease_owner)");
}

/// Deletes claims whose work is done, unless another change arrived meanwhile ("mark_seq"); returns the
/// deleted ones.
std::set<TransactionId> delete_completed(soci::session& session, const std::string& owner,
                                         std::span<const SyncClose> closes) {
  sql::BulkRows rows(
      session, {{"transaction_id", Type::integer}, {"mark_seq", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    if (close.done) rows.add({close.claim.transaction.value, close.claim.mark_seq, owner});
  }
  std::set<TransactionId> ended;
  for (const std::int64_t id : rows.run_returning_keys(
           session,
           "DELETE FROM crm_outbox WHERE transaction_id = :transaction_id AND lease_owner = :lease_owner AND "
           "mark_seq = :mark_seq",
           "DELETE FROM crm_outbox m USING " + rows.as_table() +
               " WHERE m.transaction_id = input_row.transaction_id AND m.lease_owner = "
               "input_row.lease_owner AND m.mark_seq = input_row.mark_seq RETURNING m.transaction_id"))
    ended.insert({id});
  return ended;
}

/// Releases the others; failed ones are retried later, unless another change arrived meanwhile.
void release_claims(soci::session& session, const std::string& owner, std::span<const SyncClose> closes,
                    const std::set<TransactionId>& ended) {
  sql::BulkRows failed(session, {{"transaction_id", Type::integer},
                                 {"mark_seq", Type::integer},
                                 {"lease_owner", Type::text},
                                 {"attempt", Type::integer},
                                 {"next_attempt_at", Type::integer},
                                 {"last_error", Type::text},
                                 {"is_rejected", Type::integer},
                                 {"failed_at", Type::integer}});
  sql::BulkRows released(session, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  sql::BulkRows released_clean(session, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    const std::int64_t id = close.claim.transaction.value;
    if (!close.done)
      failed.add({id, close.claim.mark_seq, owner, std::int64_t{close.is_attempt}, close.retry_at.value,
                  close.error, std::int64_t{close.is_rejected}, close.failed_at.value});
    if (!ended.contains(close.claim.transaction)) (close.done ? released_clean : released).add({id, owner});
  }
  const std::string mine = "transaction_id = :transaction_id AND lease_owner = :lease_owner";
  const std::string given =
      "m.transaction_id = input_row.transaction_id AND m.lease_owner = input_row.lease_owner";
  failed.run(session,
             "UPDATE crm_outbox SET attempts = attempts + :attempt, next_attempt_at = :next_attempt_at, "
             "last_error = :last_error, is_rejected = :is_rejected, failed_at = CASE WHEN :failed_at = 0 "
             "THEN failed_at ELSE :failed_at END, failing_since = " +
                 failing_since(session) + " WHERE " + mine + " AND mark_seq = :mark_seq",
             "UPDATE crm_outbox m SET attempts = m.attempts + input_row.attempt, next_attempt_at = "
             "input_row.next_attempt_at, last_error = input_row.last_error, is_rejected = "
             "input_row.is_rejected, failed_at = CASE WHEN input_row.failed_at = 0 THEN m.failed_at ELSE "
             "input_row.failed_at END, failing_since = " +
                 failing_since(session) + " FROM " + failed.as_table() + " WHERE " + given +
                 " AND m.mark_seq = input_row.mark_seq");
  const auto free = [&](sql::BulkRows& rows, const std::string& set) {
    rows.run(session, "UPDATE crm_outbox SET " + set + " WHERE " + mine,
             "UPDATE crm_outbox m SET " + set + " FROM " + rows.as_table() + " WHERE " + given);
  };
  free(released, "lease_owner = '', lease_until = 0");
  free(released_clean,
       "lease_owner = '', lease_until = 0, last_error = '', is_rejected = 0, failing_since = 0, failed_at = "
       "0");
}

/// In the order in which other transactions enqueue and release them (ARCH-40).
void lock_claims(soci::session& session, std::span<const SyncClose> closes) {
  std::vector<std::int64_t> ids;
  for (const SyncClose& close : closes) ids.push_back(close.claim.transaction.value);
  lock_in_order(session, kCrmOutbox, ids);
}

}  // namespace

void SyncQueue::close(const std::string& owner, std::span<const SyncClose> closes) {
  if (closes.empty()) return;
  database_->write([&](soci::session& session) {
    update_sync_states(session, owner, closes);
    for (const SyncClose& close : closes) {
      if (close.sync_state && close.has_cleared_lookups) clear_lookups(session, *close.sync_state);
    }
    lock_claims(session, closes);
    const std::set<TransactionId> ended = delete_completed(session, owner, closes);
    release_claims(session, owner, closes, ended);
  });
}

}  // namespace giftsync::store
