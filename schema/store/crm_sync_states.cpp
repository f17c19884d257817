// The match decision of a gift and the state of its record in the CRM: the sync states.
#include <cstdlib>

#include "schema/crm/crm.h"
#include "schema/enum_words.h"
#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/sql/prepared_query.h"
#include "schema/sql/queries.h"
#include "schema/store/bounded_queries.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_rows.h"
#include "schema/store/sync_queue.h"

namespace giftsync::schema::store {
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

std::vector<CrmSyncState> select_sync_states(soci::session& session, sql::Dialect dialect,
                                             const std::vector<std::int64_t>& ids) {
  sql::PreparedQuery row(
      session,
      "SELECT transaction_id, state, decided_at, contact_id, account_id, lead_id, opportunity_id, "
      "deal_stage, sender_id, reason, warnings, written_version, error, needs_relink, task, linked_by, "
      "crm_id, task_crm_id FROM crm_sync_state WHERE " +
          sql::in_list(dialect, "transaction_id", "list", false) + " ORDER BY transaction_id");
  std::vector<CrmSyncState> found;
  found.reserve(ids.size());
  row.each_row({sql::list_of(dialect, ids)}, [&] {
    CrmSyncState& sync_state = found.emplace_back();
    sync_state.transaction = {row.integer(0)};
    sync_state.state = kCrmSyncStatuses.parse(row.text(1)).value_or(CrmSyncStatus::decided);
    sync_state.decided_at = {row.integer(2)};
    int column = 3;
    MatchDecision& d = sync_state.decision;
    for (std::string* text : {&d.contact_id, &d.account_id, &d.lead_id, &d.opportunity_id, &d.deal_stage,
                              &d.sender_id, &d.reason, &d.warnings})
      *text = row.text(column++);
    sync_state.written_version = row.integer(11);
    sync_state.error = row.text(12);
    sync_state.needs_relink = row.integer(13) != 0;
    sync_state.task = kTaskStates.parse(row.text(14)).value_or(TaskState::none);
    sync_state.linked_by = row.text(15);
    sync_state.crm_id = row.text(16);
    sync_state.task_crm_id = row.text(17);
  });
  return found;
}

/// Returns whether it was still the decision that had been read.
bool update_decision(soci::session& session, const std::string& clock, const DecisionUpdate& one) {
  const CrmSyncState& sync_state = one.sync_state;
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
  if (one.create_record) {
    text += ", state = :state, task = :task";
    update.exchange(use(state));
    update.exchange(use(task));
  }
  text += " WHERE transaction_id = :id AND decided_at = :read";
  update.exchange(use(sync_state.transaction));
  update.exchange(use(one.expected_decided_at));
  if (one.create_record) {
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
std::vector<CrmSyncState> select_page(soci::session& session, sql::Dialect dialect, std::string_view where,
                                      TransactionId after, std::size_t limit) {
  const std::vector<std::int64_t> ids = sql::select_column<std::int64_t>(
      session,
      "SELECT transaction_id FROM crm_sync_state WHERE " + std::string(where) +
          " AND transaction_id > :after ORDER BY transaction_id LIMIT " + std::to_string(limit),
      use(after));
  return select_sync_states(session, dialect, ids);
}

}  // namespace

bool CrmSyncState::has_id_conflict() const {
  return state == CrmSyncStatus::rejected && error == crm::id_conflict_result(transaction).reason;
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

void insert_sync_states(soci::session& session, sql::Dialect dialect,
                        std::span<const CrmSyncState> sync_states) {
  sql::BulkInsert rows(dialect, "crm_sync_state",
                       {{"transaction_id", Type::integer},
                        {"state", Type::text},
                        {"decided_at", Type::integer},
                        {"contact_id", Type::text},
                        {"account_id", Type::text},
                        {"lead_id", Type::text},
                        {"opportunity_id", Type::text},
                        {"deal_stage", Type::text},
                        {"sender_id", Type::text},
                        {"reason", Type::text},
                        {"warnings", Type::text},
                        {"written_version", Type::integer},
                        {"error", Type::text},
                        {"needs_relink", Type::integer},
                        {"task", Type::text}},
                       "ON CONFLICT DO NOTHING");
  for (const CrmSyncState& sync_state : sync_states) {
    const MatchDecision& d = sync_state.decision;
    rows.add({sync_state.transaction.value, to_word(sync_state.state), sync_state.decided_at.value,
              d.contact_id, d.account_id, d.lead_id, d.opportunity_id, d.deal_stage, d.sender_id, d.reason,
              d.warnings, sync_state.written_version, sync_state.error,
              std::int64_t{sync_state.needs_relink ? 1 : 0}, to_word(sync_state.task)});
  }
  rows.run(session);
}

std::vector<CrmSyncState> SyncQueue::insert_decisions(std::span<const CrmSyncState> decisions) {
  if (decisions.empty()) return {};
  const sql::Dialect dialect = database_->dialect();
  return database_->write([&](soci::session& session) {
    insert_sync_states(session, dialect, decisions);
    std::vector<std::int64_t> ids;
    for (const CrmSyncState& sync_state : decisions) ids.push_back(sync_state.transaction.value);
    return select_sync_states(session, dialect, ids);
  });
}

std::vector<CrmSyncState> SyncQueue::find_states(std::span<const TransactionId> transactions) {
  return database_->read([&](soci::session& session) {
    return select_sync_states(session, database_->dialect(), values_of(transactions));
  });
}

std::vector<CrmSyncState> SyncQueue::list_states_in(CrmSyncStatus state, TransactionId after,
                                                    std::size_t limit) {
  return database_->snapshot([&](soci::session& session) {
    return select_page(session, database_->dialect(), condition_of(state), after, limit);
  });
}

std::vector<CrmSyncState> SyncQueue::list_states_to_rematch(RematchScope scope, TransactionId after,
                                                            std::size_t limit) {
  return database_->snapshot([&](soci::session& session) {
    return select_page(session, database_->dialect(), condition_of(scope), after, limit);
  });
}

std::vector<TransactionId> SyncQueue::update_decisions(std::span<const DecisionUpdate> decisions,
                                                       platform::UtcMillis now) {
  if (decisions.empty()) return {};
  const std::string clock(sql::database_now(database_->dialect()));
  return database_->write([&](soci::session& session) {
    std::vector<TransactionId> saved;
    std::vector<TransactionId> to_make;
    for (const DecisionUpdate& one : decisions) {
      if (!update_decision(session, clock, one)) continue;
      saved.push_back(one.sync_state.transaction);
      if (one.create_record) to_make.push_back(one.sync_state.transaction);
      if (one.action) insert_actions(session, database_->dialect(), std::span(&*one.action, 1));
      if (one.audit) insert_audit_event(session, *one.audit);
    }
    enqueue_sync(session, database_->dialect(), to_make, now);
    return saved;
  });
}

std::int64_t SyncQueue::count_states(CrmSyncStatus state) {
  return database_->read([&](soci::session& session) {
    return count_bounded(session, "crm_sync_state WHERE " + condition_of(state));
  });
}

std::int64_t SyncQueue::forget_crm_ids() {
  const sql::Dialect dialect = database_->dialect();
  const std::string next =
      "SELECT transaction_id FROM crm_sync_state WHERE transaction_id > :after AND (crm_id <> '' OR "
      "task_crm_id <> '') ORDER BY transaction_id LIMIT " +
      std::to_string(sql::Database::kMaxRowsPerBatch);
  const std::string update = "UPDATE crm_sync_state SET crm_id = '', task_crm_id = '' WHERE " +
                             sql::in_list(dialect, "transaction_id", "list", false);
  std::int64_t all = 0;
  for (std::int64_t after = 0;;) {
    const auto ids = database_->write([&](soci::session& session) {
      auto found = sql::select_column<std::int64_t>(session, next, use(after));
      const std::string list = sql::list_of(dialect, found);
      if (!found.empty()) session << update, use(list);
      return found;
    });
    if (ids.empty()) return all;
    all += static_cast<std::int64_t>(ids.size());
    after = ids.back();
  }
}

}  // namespace giftsync::schema::store
