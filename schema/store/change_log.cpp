#include "schema/store/change_log.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/sql/kept_query.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_inserts.h"
#include "schema/store/gift_rows.h"
#include "schema/store/held_reports.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkInsert;
using sql::Identity;
using sql::identity_of;
using Type = BulkInsert::Type;

void sort_once_each(std::vector<TransactionId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::vector<TransactionId> transactions_in(std::span<const StatusChange> changes) {
  std::vector<TransactionId> ids;
  ids.reserve(changes.size());
  for (const StatusChange& change : changes) ids.push_back(change.transaction);
  sort_once_each(ids);
  return ids;
}

std::vector<StatusChange> read_changes(soci::statement& statement, const std::string& rest) {
  sql::ChangeRow row;
  row.bind(statement);
  statement.alloc();
  statement.prepare("SELECT " + std::string(sql::ChangeRow::kColumns) + " FROM change_log c WHERE " + rest,
                    sql::kRunOnce);
  statement.define_and_bind();
  std::vector<StatusChange> changes;
  sql::each_row(statement, [&] { changes.push_back(row.value()); });
  return changes;
}

/// Leaves out what is held for another's transaction of the same id; one of its own counts at once.
const std::string kOfItsOrigin =
    " AND (c.held = 0 OR NOT EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = c.transaction_id AND "
    "t.origin NOT IN (c.origin, '" +
    std::string(kAdoptedOrigin) + "')))";

std::vector<StatusChange> select_changes(soci::session& session, Dialect dialect,
                                         std::span<const TransactionId> ids) {
  const std::string list = sql::list_of(dialect, sql::values_of(ids));
  soci::statement statement(session);
  statement.exchange(use(list));
  return read_changes(statement, sql::in_list(dialect, "c.transaction_id", "ids", false) + kOfItsOrigin +
                                     " ORDER BY c.transaction_id, c.id");
}

std::map<std::string, std::int64_t> held_by_source(soci::session& session, Dialect dialect,
                                                   std::span<const StatusChange> changes) {
  std::set<std::string> sources;
  for (const StatusChange& change : changes) sources.insert(change.source);
  const std::string list = sql::list_of(dialect, std::vector<std::string>(sources.begin(), sources.end()));
  std::string source;
  long long count = 0;
  soci::statement statement =
      sql::bound(session,
                 "SELECT source, count(*) FROM change_log WHERE held = 1 AND " +
                     sql::in_list(dialect, "source", "sources", true) + " GROUP BY source",
                 use(list), into(source), into(count));
  std::map<std::string, std::int64_t> held;
  sql::each_row(statement, [&] { held[source] = count; });
  return held;
}

/// Of which change each one is a repeat within its batch: the first one that is the same, often itself.
class FirstOnes {
 public:
  explicit FirstOnes(std::span<const StatusChange> changes) : order_(changes.size()), first_(changes.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return identity_of(changes[a]) < identity_of(changes[b]);
    });
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const bool repeats = i > 0 && identity_of(changes[order_[i - 1]]) == identity_of(changes[order_[i]]);
      first_[order_[i]] = repeats ? first_[order_[i - 1]] : order_[i];
    }
  }
  /// Where the first one is.
  std::size_t of(std::size_t at) const { return first_[at]; }
  bool is_first(std::size_t at) const { return first_[at] == at; }
  /// All places, those of one gift's changes side by side.
  const std::vector<std::size_t>& by_gift() const { return order_; }

 private:
  std::vector<std::size_t> order_;
  std::vector<std::size_t> first_;
};

/// The logged twins of the changes at those places: narrowed down by transaction and time.
std::vector<StatusChange> select_twins(soci::session& session, Dialect dialect,
                                       std::span<const StatusChange> changes,
                                       const std::vector<std::size_t>& of) {
  if (of.empty()) return {};
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> times;
  for (const std::size_t at : of) {
    ids.push_back(changes[at].transaction.value);
    times.push_back(changes[at].occurred_at.value);
  }
  const std::string id_list = sql::list_of(dialect, ids);
  const std::string time_list = sql::list_of(dialect, times);
  soci::statement statement(session);
  statement.exchange(use(id_list));
  statement.exchange(use(time_list));
  return read_changes(statement, sql::in_list(dialect, "c.transaction_id", "ids", false) + " AND " +
                                     sql::in_list(dialect, "c.occurred_at", "times", false));
}

/// Which event ids changes can still take that are reported more than once. A change that came once brings
/// its own, and nothing is looked up for it.
class EventRoom {
 public:
  void watch(ChangeId id) { taken_.try_emplace(id); }

  /// Reads those of the watched changes that were in the log before.
  void read_known(soci::session& session, Dialect dialect, const std::unordered_set<ChangeId>& inserted) {
    std::vector<std::int64_t> ids;
    for (const auto& [id, taken] : taken_) {
      if (!inserted.contains(id)) ids.push_back(id.value);
    }
    if (ids.empty()) return;
    const std::string list = sql::list_of(dialect, ids);
    ChangeId id;
    std::string event_id;
    soci::statement statement = sql::bound(session,
                                           "SELECT change_id, event_id FROM change_event WHERE " +
                                               sql::in_list(dialect, "change_id", "ids", false),
                                           use(list), into(id), into(event_id));
    sql::each_row(statement, [&] { taken_[id].push_back(event_id); });
  }

  /// Whether the id is new to the change and there is room for it.
  bool take(ChangeId id, const std::string& event_id) {
    const auto found = taken_.find(id);
    if (found == taken_.end()) return true;
    std::vector<std::string>& taken = found->second;
    if (taken.size() >= sql::kMaxEventIds) return false;
    if (std::find(taken.begin(), taken.end(), event_id) != taken.end()) return false;
    taken.push_back(event_id);
    return true;
  }

 private:
  std::unordered_map<ChangeId, std::vector<std::string>> taken_;
};

/// `standing`: the id under which each change stands in the log, or none.
void insert_events(soci::session& session, Dialect dialect, std::span<const StatusChange> changes,
                   const std::vector<std::optional<ChangeId>>& standing, EventRoom& room) {
  BulkInsert rows(dialect, "change_event", {{"change_id", Type::integer}, {"event_id", Type::text}},
                  "ON CONFLICT DO NOTHING");
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!standing[i]) continue;
    const std::vector<std::string>& ids = changes[i].event_ids;
    for (const std::string& event_id : std::span(ids).first(std::min(ids.size(), sql::kMaxEventIds))) {
      if (room.take(*standing[i], event_id)) rows.add({standing[i]->value, event_id});
    }
  }
  rows.run(session);
}

/// What becomes of changes whose transactions are not all known: those are held while there is room for their
/// source, unless they are held already. Known ones count as accepted until the log has seen them.
class Admission {
 public:
  Admission(soci::session& session, Dialect dialect, std::span<const StatusChange> changes,
            const std::unordered_map<TransactionId, std::string>& known)
      : known_(known) {
    std::vector<std::size_t> strays;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!known_.contains(changes[i].transaction)) strays.push_back(i);
    }
    if (strays.empty()) return;
    held_ = held_by_source(session, dialect, changes);
    twins_ = select_twins(session, dialect, changes, strays);
    for (const StatusChange& twin : twins_) seen_.insert(identity_of(twin));
  }

  AcceptOutcome outcome_of(const StatusChange& change) {
    const auto known = known_.find(change.transaction);
    if (known != known_.end())
      return known->second == change.origin || known->second == kAdoptedOrigin ? AcceptOutcome::accepted
                                                                               : AcceptOutcome::other_origin;
    if (seen_.contains(identity_of(change))) return AcceptOutcome::repeated;
    if (held_[change.source] >= kMaxHeldChanges) return AcceptOutcome::too_many_held;
    ++held_[change.source];
    seen_.insert(identity_of(change));
    return AcceptOutcome::held;
  }

 private:
  const std::unordered_map<TransactionId, std::string>& known_;  // with their origins
  std::map<std::string, std::int64_t> held_;
  std::vector<StatusChange> twins_;
  std::set<Identity> seen_;  // of changes that outlive this: twins_ and the caller's
};

std::unordered_set<ChangeId> insert_admitted(soci::session& session, Dialect dialect,
                                             std::span<const StatusChange> changes, const FirstOnes& first,
                                             const std::vector<AcceptOutcome>& outcomes) {
  std::vector<StatusChange> held;
  held.reserve(changes.size());
  std::vector<const StatusChange*> rows;
  rows.reserve(changes.size());
  for (const std::size_t at : first.by_gift()) {
    if (!first.is_first(at)) continue;
    if (outcomes[at] == AcceptOutcome::accepted) rows.push_back(&changes[at]);
    if (outcomes[at] == AcceptOutcome::held) {
      held.push_back(changes[at]);
      held.back().held = true;
      rows.push_back(&held.back());
    }
  }
  return sql::insert_changes(session, dialect, rows);
}

/// The log's own unique key tells what is new, so nothing that stands there is read, except for the twins of
/// repeats that bring event ids, and which of those they have.
void settle_repeats(soci::session& session, Dialect dialect, std::span<const StatusChange> changes,
                    const FirstOnes& first, const std::unordered_set<ChangeId>& inserted,
                    std::vector<AcceptOutcome>& outcomes) {
  std::vector<std::optional<ChangeId>> standing(changes.size());
  std::vector<std::size_t> of_logged;
  EventRoom room;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (outcomes[i] == AcceptOutcome::too_many_held || outcomes[i] == AcceptOutcome::other_origin) continue;
    const ChangeId first_id = changes[first.of(i)].id;
    const bool first_is_new = inserted.contains(first_id);
    if (first_is_new) standing[i] = first_id;
    if (first_is_new && first.is_first(i)) continue;
    outcomes[i] = AcceptOutcome::repeated;
    if (changes[i].event_ids.empty()) continue;
    if (first_is_new)
      room.watch(first_id);
    else
      of_logged.push_back(i);
  }
  const std::vector<StatusChange> twins = select_twins(session, dialect, changes, of_logged);
  std::map<Identity, ChangeId> logged;
  for (const StatusChange& twin : twins) logged.emplace(identity_of(twin), twin.id);
  for (const std::size_t i : of_logged) {
    const auto twin = logged.find(identity_of(changes[i]));
    if (twin == logged.end()) continue;
    standing[i] = twin->second;
    room.watch(twin->second);
  }
  room.read_known(session, dialect, inserted);
  insert_events(session, dialect, changes, standing, room);
}

}  // namespace

namespace sql {

std::unordered_map<TransactionId, std::string> known_transactions(soci::session& session, Dialect dialect,
                                                                  std::span<const TransactionId> ids) {
  KeptQuery row(
      session, "SELECT id, origin FROM recipient_transaction WHERE " + in_list(dialect, "id", "list", false));
  std::unordered_map<TransactionId, std::string> known;
  known.reserve(ids.size());
  row.each_row({list_of(dialect, values_of(ids))},
               [&] { known.emplace(TransactionId{row.integer(0)}, row.text(1)); });
  return known;
}

std::unordered_set<ChangeId> insert_changes(soci::session& session, Dialect dialect,
                                            std::span<const StatusChange* const> changes) {
  BulkInsert rows(dialect, "change_log",
                  {{"id", Type::integer},
                   {"source", Type::text},
                   {"transaction_id", Type::integer},
                   {"status", Type::text},
                   {"premise", Type::text},
                   {"occurred_at", Type::integer},
                   {"received_at", Type::integer},
                   {"held", Type::integer},
                   {"origin", Type::text}},
                  "ON CONFLICT DO NOTHING");
  for (const StatusChange* change : changes) {
    rows.add({change->id.value, change->source, change->transaction.value, to_word(change->status),
              to_word(change->premise), change->occurred_at.value, change->received_at.value,
              std::int64_t{change->held}, change->origin});
  }
  std::unordered_set<ChangeId> inserted;
  for (const std::int64_t id : rows.run_inserting(session)) inserted.insert({id});
  return inserted;
}

std::vector<AcceptOutcome> accept_changes(soci::session& session, Dialect dialect,
                                          std::span<const StatusChange> changes, std::int64_t rest_millis) {
  if (changes.empty()) return {};
  const std::vector<TransactionId> ids = transactions_in(changes);
  const std::unordered_map<TransactionId, std::string> known = known_transactions(session, dialect, ids);
  Admission admission(session, dialect, changes, known);
  std::vector<AcceptOutcome> outcomes;
  outcomes.reserve(changes.size());
  for (const StatusChange& change : changes) outcomes.push_back(admission.outcome_of(change));
  const FirstOnes first(changes);
  const std::unordered_set<ChangeId> inserted = insert_admitted(session, dialect, changes, first, outcomes);
  settle_repeats(session, dialect, changes, first, inserted, outcomes);

  std::vector<TransactionId> changed;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (outcomes[i] == AcceptOutcome::accepted) changed.push_back(changes[i].transaction);
  }
  sort_once_each(changed);
  mark_for_sync(session, dialect, changed, {changes.front().received_at.value + rest_millis});
  return outcomes;
}

std::vector<ChangeSpan> select_spans(soci::session& session, Dialect dialect,
                                     std::span<const TransactionId> ids) {
  KeptQuery row(
      session,
      "SELECT transaction_id, status, premise, min(occurred_at), max(occurred_at) FROM change_log c "
      "WHERE " +
          in_list(dialect, "c.transaction_id", "list", false) + kOfItsOrigin +
          " AND voided_at IS NULL GROUP BY transaction_id, status, premise ORDER BY transaction_id");
  std::vector<ChangeSpan> spans;
  row.each_row({list_of(dialect, values_of(ids))}, [&] {
    spans.push_back({{row.integer(0)},
                     status_from_word(row.text(1)).value_or(Status::sent),
                     premise_from_word(row.text(2)).value_or(Premise::none),
                     {row.integer(3)},
                     {row.integer(4)}});
  });
  return spans;
}

void read_event_ids(soci::session& session, Dialect dialect, std::vector<StatusChange>& changes) {
  if (changes.empty()) return;
  ChangesById by_id(changes);
  const std::string list = sql::list_of(dialect, by_id.ids());
  ChangeId id;
  std::string event_id;
  soci::statement statement = sql::bound(session,
                                         "SELECT change_id, event_id FROM change_event WHERE " +
                                             sql::in_list(dialect, "change_id", "ids", false),
                                         use(list), into(id), into(event_id));
  sql::each_row(statement, [&] { by_id.at(id).event_ids.push_back(event_id); });
  // Sorted here: the back ends' own order of texts differs.
  for (StatusChange& change : changes) std::sort(change.event_ids.begin(), change.event_ids.end());
}

void mark_for_sync(soci::session& session, Dialect dialect, const std::vector<TransactionId>& transactions,
                   UtcMillis due) {
  // A mark that is due already keeps its place in the queue, so that a gift that changes all the time is not
  // put off for ever. One that waits for anybody to claim it says all there is to say.
  BulkInsert marks = mark_rows(
      dialect,
      "ON CONFLICT (transaction_id) DO UPDATE SET seq = sync_mark.seq + 1, attempts = 0, due_at = "
      "CASE WHEN sync_mark.due_at < excluded.due_at THEN sync_mark.due_at ELSE excluded.due_at END WHERE "
      "sync_mark.lease_owner <> '' OR sync_mark.attempts > 0 OR sync_mark.due_at > excluded.due_at");
  for (const TransactionId id : transactions) add_mark(marks, id, due);
  marks.run(session);
}

}  // namespace sql

ChangeLog::ChangeLog(const std::shared_ptr<sql::Database>& database)
    : database_(database), change_ids_(database, "change") {}

std::vector<StatusChange> ChangeLog::numbered(std::span<const StatusChange> changes) {
  std::vector<StatusChange> result(changes.begin(), changes.end());
  if (result.empty()) return result;
  std::int64_t id = change_ids_.take(static_cast<std::int64_t>(result.size()));
  for (StatusChange& change : result) change.id = {id++};
  return result;
}

std::vector<AcceptOutcome> ChangeLog::accept(std::span<const StatusChange> changes,
                                             std::int64_t rest_millis) {
  const std::vector<StatusChange> all = numbered(changes);
  return database_->write([&](soci::session& session) {
    return sql::accept_changes(session, database_->dialect(), all, rest_millis);
  });
}

std::vector<ChangeSpan> ChangeLog::spans_of(std::span<const TransactionId> transactions) {
  return database_->read(
      [&](soci::session& session) { return sql::select_spans(session, database_->dialect(), transactions); });
}

std::vector<StatusChange> ChangeLog::changes_of(std::span<const TransactionId> transactions) {
  return database_->read(
      [&](soci::session& session) { return select_changes(session, database_->dialect(), transactions); });
}

std::vector<StatusChange> ChangeLog::history(TransactionId transaction) {
  return database_->snapshot([&](soci::session& session) {
    std::vector<StatusChange> changes =
        select_changes(session, database_->dialect(), std::span(&transaction, 1));
    const auto key = [](const StatusChange& change) {
      return std::tuple(change.occurred_at, change.status, change.premise, std::string_view(change.source));
    };
    std::sort(changes.begin(), changes.end(),
              [&](const StatusChange& a, const StatusChange& b) { return key(a) < key(b); });
    sql::read_event_ids(session, database_->dialect(), changes);
    sql::read_reviews(session, database_->dialect(), changes);
    return changes;
  });
}

std::int64_t ChangeLog::release_held(UtcMillis now, UtcMillis received_since) {
  // A source whose settings were edited may have been misread: its reports are judged again first.
  const std::string has_appeared =
      "held = 1 AND received_at >= :since AND " + sql::exists_for("change_log") +
      " AND NOT EXISTS (SELECT 1 FROM source s WHERE s.name = change_log.source AND s.to_judge <> '')";
  const auto appeared = [&](soci::session& session) {
    TransactionId id;
    soci::statement statement =
        sql::bound(session, "SELECT transaction_id FROM change_log WHERE " + has_appeared,
                   use(received_since), into(id));
    // Not DISTINCT: SQLite would go through the whole log by its unique index, instead of what is held.
    std::set<TransactionId> ids;
    sql::each_row(statement, [&] { ids.insert(id); });
    return std::vector<TransactionId>(ids.begin(), ids.end());
  };
  // The look is cheap and nearly always finds nothing, so the write transaction is begun only when it does
  // not.
  if (database_->read(appeared).empty()) return 0;
  return database_->write([&](soci::session& session) {
    const std::vector<TransactionId> ids = appeared(session);
    const std::string list = sql::list_of(database_->dialect(), sql::values_of(ids));
    soci::statement update =
        sql::bound(session,
                   "UPDATE change_log SET held = 0 WHERE " + has_appeared + " AND " +
                       sql::in_list(database_->dialect(), "transaction_id", "ids", false),
                   use(received_since), use(list));
    update.execute(true);
    const auto released = static_cast<std::int64_t>(update.get_affected_rows());
    sql::forget_held_reports(session, database_->dialect(), ids);
    sql::mark_for_sync(session, database_->dialect(), ids, now);
    return released;
  });
}

std::int64_t ChangeLog::count_held() {
  return database_->read([](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM change_log WHERE held = 1", into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema
