#include "schema/store/sync_queue.h"

#include <set>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/sql/kept_query.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_rows.h"
#include "schema/store/waiting_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkInsert;
using sql::BulkRows;
using Type = BulkInsert::Type;

constexpr std::pair<MirrorState, std::string_view> kMirrorStates[] = {{MirrorState::decided, "decided"},
                                                                      {MirrorState::written, "written"},
                                                                      {MirrorState::skipped, "skipped"},
                                                                      {MirrorState::gone, "gone"},
                                                                      {MirrorState::rejected, "rejected"}};

MirrorState mirror_state_from(std::string_view word) {
  for (const auto& [state, text] : kMirrorStates) {
    if (text == word) return state;
  }
  return MirrorState::decided;
}

constexpr std::pair<TaskState, std::string_view> kTaskStates[] = {{TaskState::none, "none"},
                                                                  {TaskState::wanted, "wanted"},
                                                                  {TaskState::open, "open"},
                                                                  {TaskState::completed, "completed"},
                                                                  {TaskState::gone, "gone"}};

TaskState task_state_from(std::string_view word) {
  for (const auto& [state, text] : kTaskStates) {
    if (text == word) return state;
  }
  return TaskState::none;
}

std::vector<GiftMirror> select_mirrors(soci::session& session, Dialect dialect,
                                       const std::vector<std::int64_t>& ids) {
  sql::KeptQuery row(
      session,
      "SELECT transaction_id, state, decided_at, contact_id, account_id, lead_id, opportunity_id, "
      "deal_stage, sender_id, reason, warnings, written_version, error, needs_rematch, task FROM "
      "gift_mirror WHERE " +
          sql::in_list(dialect, "transaction_id", "list", false) + " ORDER BY transaction_id");
  std::vector<GiftMirror> found;
  found.reserve(ids.size());
  row.each_row({sql::list_of(dialect, ids)}, [&] {
    GiftMirror& mirror = found.emplace_back();
    mirror.transaction = {row.integer(0)};
    mirror.state = mirror_state_from(row.text(1));
    mirror.decided_at = {row.integer(2)};
    int column = 3;
    MatchDecision& d = mirror.decision;
    for (std::string* text : {&d.contact_id, &d.account_id, &d.lead_id, &d.opportunity_id, &d.deal_stage,
                              &d.sender_id, &d.reason, &d.warnings})
      *text = row.text(column++);
    mirror.written_version = row.integer(11);
    mirror.error = row.text(12);
    mirror.needs_rematch = row.integer(13) != 0;
    mirror.task = task_state_from(row.text(14));
  });
  return found;
}

/// Not over a decision that an admin's command made meanwhile.
void clear_lookups(soci::session& session, const GiftMirror& mirror) {
  const MatchDecision& d = mirror.decision;
  const long long needs_rematch = mirror.needs_rematch ? 1 : 0;
  session
      << "UPDATE gift_mirror SET contact_id = :contact, account_id = :account, lead_id = :lead, "
         "opportunity_id = :opportunity, deal_stage = :stage, sender_id = :sender, needs_rematch = :needs "
         "WHERE transaction_id = :id AND decided_at = :decided",
      use(d.contact_id), use(d.account_id), use(d.lead_id), use(d.opportunity_id), use(d.deal_stage),
      use(d.sender_id), use(needs_rematch), use(mirror.transaction), use(mirror.decided_at);
}

/// Returns whether it was still the decision that had been read.
bool redecide_one(soci::session& session, const std::string& clock, const Redecision& one) {
  const GiftMirror& mirror = one.mirror;
  const MatchDecision& d = mirror.decision;
  const std::string state(to_word(mirror.state));
  const std::string task(to_word(mirror.task));
  const long long needs_rematch = mirror.needs_rematch ? 1 : 0;
  const long long version = mirror.written_version;
  soci::statement update(session);
  std::string text =
      "UPDATE gift_mirror SET decided_at = :decided, contact_id = :contact, account_id = :account, "
      "lead_id = :lead, opportunity_id = :opportunity, deal_stage = :stage, reason = :reason, "
      "warnings = :warnings, needs_rematch = :needs";
  update.exchange(use(mirror.decided_at));
  for (const std::string* text_value :
       {&d.contact_id, &d.account_id, &d.lead_id, &d.opportunity_id, &d.deal_stage, &d.reason, &d.warnings})
    update.exchange(use(*text_value));
  update.exchange(use(needs_rematch));
  // A record that is there keeps what the sync loop says of it; one that is to be made must not have been
  // made since it was read.
  if (one.make_record) {
    text += ", state = :state, task = :task";
    update.exchange(use(state));
    update.exchange(use(task));
  }
  text += " WHERE transaction_id = :id AND decided_at = :read";
  update.exchange(use(mirror.transaction));
  update.exchange(use(one.read_decided_at));
  if (one.make_record) {
    text +=
        " AND written_version = :version AND NOT EXISTS (SELECT 1 FROM sync_mark m WHERE m.transaction_id = "
        "gift_mirror.transaction_id AND m.lease_until >= " +
        clock + ")";
    update.exchange(use(version));
  }
  update.alloc();
  update.prepare(text, sql::kRunOnce);
  update.define_and_bind();
  update.execute(true);
  return update.get_affected_rows() == 1;
}

std::string_view condition_of(RematchScope scope) {
  switch (scope) {
    case RematchScope::unmatched:
      return "state <> 'gone' AND ((contact_id = '' AND lead_id = '') OR needs_rematch = 1)";
    case RematchScope::needs_rematch:
      return "state <> 'gone' AND needs_rematch = 1";
    case RematchScope::linked_to_lead:
      return "state <> 'gone' AND lead_id <> ''";
  }
  std::abort();  // a value outside its enumeration: a bug
}

/// The mirrors above `after` that fulfil `where`, in the order of their transactions.
std::vector<GiftMirror> select_page(soci::session& session, Dialect dialect, std::string_view where,
                                    TransactionId after, std::size_t limit) {
  TransactionId id;
  std::vector<std::int64_t> ids;
  soci::statement statement =
      sql::bound(session,
                 "SELECT transaction_id FROM gift_mirror WHERE " + std::string(where) +
                     " AND transaction_id > :after ORDER BY transaction_id LIMIT " + std::to_string(limit),
                 use(after), into(id));
  sql::each_row(statement, [&] { ids.push_back(id.value); });
  return select_mirrors(session, dialect, ids);
}

void update_mirrors(soci::session& session, Dialect dialect, std::span<const SyncClose> closes) {
  BulkRows rows(dialect, {{"transaction_id", Type::integer},
                          {"state", Type::text},
                          {"written_version", Type::integer},
                          {"error", Type::text},
                          {"warnings", Type::text},
                          {"task", Type::text}});
  for (const SyncClose& close : closes) {
    if (!close.mirror) continue;
    const GiftMirror& mirror = *close.mirror;
    rows.add({mirror.transaction.value, to_word(mirror.state), mirror.written_version, mirror.error,
              mirror.decision.warnings, to_word(mirror.task)});
  }
  rows.run(session,
           "UPDATE gift_mirror SET state = :state, written_version = :written_version, error = :error, "
           "warnings = :warnings, task = :task WHERE transaction_id = :transaction_id AND written_version <= "
           ":written_version",
           "UPDATE gift_mirror m SET state = row_given.state, written_version = row_given.written_version, "
           "error = row_given.error, warnings = row_given.warnings, task = row_given.task FROM " +
               rows.as_table() +
               " WHERE m.transaction_id = row_given.transaction_id AND m.written_version <= "
               "row_given.written_version");
}

/// Ends claims whose work is done, unless another change came meanwhile, which "seq" tells; returns which
/// have ended.
std::set<TransactionId> delete_done(soci::session& session, Dialect dialect, const std::string& owner,
                                    std::span<const SyncClose> closes) {
  BulkRows rows(dialect,
                {{"transaction_id", Type::integer}, {"seq", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    if (close.done) rows.add({close.claim.transaction.value, close.claim.seq, owner});
  }
  std::set<TransactionId> ended;
  for (const std::int64_t id : rows.run_touching(
           session,
           "DELETE FROM sync_mark WHERE transaction_id = :transaction_id AND lease_owner = :lease_owner AND "
           "seq = :seq",
           "DELETE FROM sync_mark m USING " + rows.as_table() +
               " WHERE m.transaction_id = row_given.transaction_id AND m.lease_owner = "
               "row_given.lease_owner AND m.seq = row_given.seq RETURNING m.transaction_id"))
    ended.insert({id});
  return ended;
}

/// The others are free again; what failed is tried later, unless another change came meanwhile.
void free_claims(soci::session& session, Dialect dialect, const std::string& owner,
                 std::span<const SyncClose> closes, const std::set<TransactionId>& ended) {
  BulkRows failed(dialect, {{"transaction_id", Type::integer},
                            {"seq", Type::integer},
                            {"lease_owner", Type::text},
                            {"due_at", Type::integer},
                            {"last_error", Type::text}});
  BulkRows freed(dialect, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  BulkRows freed_well(dialect, {{"transaction_id", Type::integer}, {"lease_owner", Type::text}});
  for (const SyncClose& close : closes) {
    const std::int64_t id = close.claim.transaction.value;
    if (!close.done) failed.add({id, close.claim.seq, owner, close.retry_at.value, close.error});
    if (!ended.contains(close.claim.transaction)) (close.done ? freed_well : freed).add({id, owner});
  }
  const std::string mine = "transaction_id = :transaction_id AND lease_owner = :lease_owner";
  const std::string given =
      "m.transaction_id = row_given.transaction_id AND m.lease_owner = row_given.lease_owner";
  failed.run(
      session,
      "UPDATE sync_mark SET attempts = attempts + 1, due_at = :due_at, last_error = :last_error WHERE " +
          mine + " AND seq = :seq",
      "UPDATE sync_mark m SET attempts = m.attempts + 1, due_at = row_given.due_at, last_error = "
      "row_given.last_error FROM " +
          failed.as_table() + " WHERE " + given + " AND m.seq = row_given.seq");
  const auto free = [&](BulkRows& rows, const std::string& set) {
    rows.run(session, "UPDATE sync_mark SET " + set + " WHERE " + mine,
             "UPDATE sync_mark m SET " + set + " FROM " + rows.as_table() + " WHERE " + given);
  };
  free(freed, "lease_owner = '', lease_until = 0");
  free(freed_well, "lease_owner = '', lease_until = 0, last_error = ''");
}

/// The marks that are due after `latest`, in the words of the index sync_mark_due.
sql::WaitingRows marks_due_after(UtcMillis latest) {
  return {.table = "sync_mark",
          .key = "transaction_id",
          .beyond = "(due_at / 10000) >= " + std::to_string(latest.value / 10000) + " AND due_at > :latest",
          .order = "(due_at / 10000), transaction_id",
          .ended = "due_at = :now"};
}

}  // namespace

std::string_view to_word(MirrorState state) {
  for (const auto& [word, text] : kMirrorStates) {
    if (word == state) return text;
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::string_view to_word(TaskState state) {
  for (const auto& [word, text] : kTaskStates) {
    if (word == state) return text;
  }
  std::abort();  // a value outside its enumeration: a bug
}

SyncQueue::SyncQueue(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::vector<SyncClaim> SyncQueue::claim(const std::string& owner, std::int64_t lease_millis,
                                        std::size_t limit, UtcMillis now) {
  const Dialect dialect = database_->dialect();
  const std::string clock(sql::database_now(dialect));
  // What the index sync_mark_due is over, so that neither look goes through the marks that are not due yet.
  const std::string is_due = "(due_at / 10000) <= " + std::to_string(now.value / 10000) +
                             " AND due_at <= :now AND lease_until < " + clock;
  const std::string due = "SELECT transaction_id FROM sync_mark WHERE " + is_due +
                          " ORDER BY (due_at / 10000), transaction_id LIMIT " + std::to_string(limit) +
                          (dialect == Dialect::postgresql ? " FOR UPDATE SKIP LOCKED" : "");
  const auto nothing_due = [&](soci::session& session) {
    long long found = 0;
    session << "SELECT count(*) FROM (SELECT 1 FROM sync_mark WHERE " + is_due + " LIMIT 1) due", use(now),
        into(found);
    return found == 0;
  };
  if (database_->read(nothing_due)) return {};  // at rest no write lock is taken
  return database_->write([&](soci::session& session) {
    const long long lease = lease_millis;
    SyncClaim row;
    long long seq = 0;
    long long attempts = 0;
    soci::statement statement =
        sql::bound(session,
                   "UPDATE sync_mark SET lease_owner = :owner, lease_until = " + clock +
                       " + :lease WHERE transaction_id " + sql::is_one_of(dialect, due) +
                       " RETURNING transaction_id, seq, attempts",
                   use(owner), use(lease), use(now), into(row.transaction), into(seq), into(attempts));
    std::vector<SyncClaim> claims;
    sql::each_row(statement, [&] {
      row.seq = seq;
      row.attempts = attempts;
      claims.push_back(row);
    });
    return claims;
  });
}

std::vector<TransactionId> SyncQueue::save(std::span<const FoldedState> folded) {
  if (folded.empty()) return {};
  const Dialect dialect = database_->dialect();
  return database_->write([&](soci::session& session) {
    BulkRows rows(dialect, {{"id", Type::integer},
                            {"version", Type::integer},
                            {"status", Type::text},
                            {"sent_at", Type::integer},
                            {"delivered_at", Type::integer},
                            {"undelivered_at", Type::integer},
                            {"opened_at", Type::integer},
                            {"redeemed_at", Type::integer},
                            {"donated_at", Type::integer},
                            {"expired_at", Type::integer},
                            {"refunded_at", Type::integer},
                            {"contradictory", Type::integer},
                            {"due_at", Type::integer}});
    for (const FoldedState& one : folded) {
      const auto time = [&](Status status) {
        const auto& found = one.times[status];
        return found ? sql::Cell(found->value) : sql::Cell();
      };
      rows.add({one.transaction.value, one.from_version, to_word(one.status), time(Status::sent),
                time(Status::delivered), time(Status::undelivered), time(Status::opened),
                time(Status::redeemed), time(Status::donated), time(Status::expired), time(Status::refunded),
                std::int64_t{one.contradictory}, one.due_at ? sql::Cell(one.due_at->value) : sql::Cell()});
    }
    const auto assignments = [](const std::string& given) {
      std::string text = "version = t.version + 1";
      for (const char* column :
           {"status", "sent_at", "delivered_at", "undelivered_at", "opened_at", "redeemed_at", "donated_at",
            "expired_at", "refunded_at", "contradictory", "due_at"})
        text += std::string(", ") + column + " = " + given + column;
      return text;
    };
    const std::vector<std::int64_t> saved = rows.run_touching(
        session,
        "UPDATE recipient_transaction AS t SET " + assignments(":") +
            " WHERE id = :id AND version = :version",
        "UPDATE recipient_transaction t SET " + assignments("row_given.") + " FROM " + rows.as_table() +
            " WHERE t.id = row_given.id AND t.version = row_given.version RETURNING t.id");
    std::vector<TransactionId> ids;
    for (const std::int64_t id : saved) ids.push_back({id});
    return ids;
  });
}

void sql::insert_mirrors(soci::session& session, Dialect dialect, std::span<const GiftMirror> mirrors) {
  BulkInsert rows(dialect, "gift_mirror",
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
                   {"needs_rematch", Type::integer},
                   {"task", Type::text}},
                  "ON CONFLICT DO NOTHING");
  for (const GiftMirror& mirror : mirrors) {
    const MatchDecision& d = mirror.decision;
    rows.add({mirror.transaction.value, to_word(mirror.state), mirror.decided_at.value, d.contact_id,
              d.account_id, d.lead_id, d.opportunity_id, d.deal_stage, d.sender_id, d.reason, d.warnings,
              mirror.written_version, mirror.error, std::int64_t{mirror.needs_rematch ? 1 : 0},
              to_word(mirror.task)});
  }
  rows.run(session);
}

std::vector<GiftMirror> SyncQueue::decide(std::span<const GiftMirror> decisions) {
  if (decisions.empty()) return {};
  const Dialect dialect = database_->dialect();
  return database_->write([&](soci::session& session) {
    sql::insert_mirrors(session, dialect, decisions);
    std::vector<std::int64_t> ids;
    for (const GiftMirror& mirror : decisions) ids.push_back(mirror.transaction.value);
    return select_mirrors(session, dialect, ids);
  });
}

std::vector<GiftMirror> SyncQueue::mirrors(std::span<const TransactionId> transactions) {
  return database_->read([&](soci::session& session) {
    return select_mirrors(session, database_->dialect(), sql::values_of(transactions));
  });
}

std::vector<GiftMirror> SyncQueue::mirrors_in(MirrorState state, TransactionId after, std::size_t limit) {
  const std::string where = "state = '" + std::string(to_word(state)) + "'";
  return database_->snapshot([&](soci::session& session) {
    return select_page(session, database_->dialect(), where, after, limit);
  });
}

std::vector<GiftMirror> SyncQueue::mirrors_to_rematch(RematchScope scope, TransactionId after,
                                                      std::size_t limit) {
  return database_->snapshot([&](soci::session& session) {
    return select_page(session, database_->dialect(), condition_of(scope), after, limit);
  });
}

std::vector<TransactionId> SyncQueue::redecide(std::span<const Redecision> decisions, UtcMillis now) {
  if (decisions.empty()) return {};
  const std::string clock(sql::database_now(database_->dialect()));
  return database_->write([&](soci::session& session) {
    std::vector<TransactionId> kept;
    std::vector<TransactionId> to_make;
    for (const Redecision& one : decisions) {
      if (!redecide_one(session, clock, one)) continue;
      kept.push_back(one.mirror.transaction);
      if (one.make_record) to_make.push_back(one.mirror.transaction);
    }
    sql::mark_for_sync(session, database_->dialect(), to_make, now);
    return kept;
  });
}

void SyncQueue::close(const std::string& owner, std::span<const SyncClose> closes) {
  if (closes.empty()) return;
  database_->write([&](soci::session& session) {
    update_mirrors(session, database_->dialect(), closes);
    for (const SyncClose& close : closes) {
      if (close.mirror && close.lookups_cleared) clear_lookups(session, *close.mirror);
    }
    const std::set<TransactionId> ended = delete_done(session, database_->dialect(), owner, closes);
    free_claims(session, database_->dialect(), owner, closes, ended);
  });
}

void SyncQueue::end_rest(UtcMillis now) {
  sql::WaitingRows resting = marks_due_after(now);
  resting.beyond += " AND attempts = 0";
  sql::end_waits_beyond(*database_, resting, now, now);
}

std::int64_t SyncQueue::end_waits_beyond(UtcMillis latest, UtcMillis now) {
  return sql::end_waits_beyond(*database_, marks_due_after(latest), latest, now);
}

void SyncQueue::note_fault(const std::string& owner, const std::string& fault) {
  database_->write([&](soci::session& session) {
    session << "UPDATE sync_mark SET lease_owner = '', lease_until = 0, last_error = :fault WHERE "
               "lease_owner = :owner",
        use(fault), use(owner);
  });
}

void SyncQueue::break_leases(const std::string& owner) {
  database_->write([&](soci::session& session) {
    session << "UPDATE sync_mark SET lease_owner = '', lease_until = 0 WHERE lease_owner = :owner",
        use(owner);
  });
}

void SyncQueue::cut_leases(std::int64_t longest_millis) {
  database_->write([&](soci::session& session) {
    sql::cut_leases(session, database_->dialect(), "sync_mark", longest_millis);
  });
}

SyncQueue::Counts SyncQueue::counts() {
  return database_->read([](soci::session& session) {
    Counts counts;
    long long waiting = 0;
    long long failing = 0;
    // A fault of the CRM as a whole is no try of a gift (see note_fault).
    session << "SELECT count(*), coalesce(sum(CASE WHEN attempts > 0 OR last_error <> '' THEN 1 ELSE 0 "
               "END), 0), min(due_at) FROM sync_mark",
        into(waiting), into(failing), into(counts.oldest_due);
    counts.waiting = waiting;
    counts.failing = failing;
    if (failing == 0) return counts;
    // Of several errors the one that keeps most gifts waiting.
    session << "SELECT last_error FROM sync_mark WHERE last_error <> '' GROUP BY last_error "
               "ORDER BY count(*) DESC, last_error LIMIT 1",
        into(counts.last_error);
    return counts;
  });
}

std::int64_t SyncQueue::count_mirrors(MirrorState state) {
  return database_->read([&](soci::session& session) {
    const std::string word(to_word(state));
    long long count = 0;
    session << "SELECT count(*) FROM gift_mirror WHERE state = :state", use(word), into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema
