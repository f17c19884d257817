#include "schema/store/gift/change_log.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "schema/sql/record_rows.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/gift/orphaned_payloads.h"
#include "schema/store/statements/bounded_queries.h"
#include "schema/store/statements/feed_marks.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {

bool OrphanCapacity::take(soci::session& session, const std::string& source, std::int64_t pending,
                          UtcMillis now) {
  {
    const std::lock_guard lock(mutex_);
    Source& known = sources_[source];
    if (known.allowance > 0) {
      --known.allowance;
      return true;
    }
    if (known.is_full && std::abs(now.value - known.full_at.value) < kRecountMillis) return false;
  }
  const std::int64_t free = kMaxOrphanedChanges - count_orphaned_changes(session, source) - pending;
  const std::lock_guard lock(mutex_);
  sources_[source] = {std::clamp<std::int64_t>((free - 1) / 2, 0, kMaxAllowance), free <= 0, now};
  return free > 0;
}

void OrphanCapacity::forget() {
  const std::lock_guard lock(mutex_);
  sources_.clear();
}

std::int64_t count_orphaned_changes(soci::session& session, const std::string& source) {
  return sql::select_value<std::int64_t>(
      session, "SELECT count(*) FROM change_log WHERE orphaned = 1 AND source = :source", soci::use(source));
}

namespace {

using soci::into;
using soci::use;
using Type = sql::BulkInsert::Type;

// One field a line.
// clang-format off
constexpr auto kStatusChangeFields = record_fields(
    "change_log",
    field<&StatusChange::id>("id"),
    field<&StatusChange::source>("source"),
    field<&StatusChange::transaction>("transaction_id"),
    field<&StatusChange::status>("status"),
    field<&StatusChange::premise>("premise"),
    field<&StatusChange::occurred_at>("occurred_at"),
    field<&StatusChange::received_at>("received_at"),
    field<&StatusChange::orphaned>("orphaned"),
    field<&StatusChange::gift_source>("gift_source"));
// clang-format on

void sort_unique(std::vector<TransactionId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::vector<TransactionId> transactions_in(std::span<const StatusChange> changes) {
  std::vector<TransactionId> ids;
  ids.reserve(changes.size());
  for (const StatusChange& change : changes) ids.push_back(change.transaction);
  sort_unique(ids);
  return ids;
}

/// Leaves out changes that are orphaned for another source's transaction of the same id; a change of its own
/// counts at once.
const std::string kMatchesGiftSource =
    " AND (c.orphaned = 0 OR NOT EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = c.transaction_id "
    "AND "
    "t.gift_source NOT IN (c.gift_source, '" +
    std::string(kAdoptedGiftSource) + "')))";

std::vector<StatusChange> select_changes(soci::session& session, std::span<const TransactionId> ids) {
  const std::string list = sql::list_of(session, ids);
  soci::statement statement(session);
  statement.exchange(use(list));
  return read_changes(statement, sql::in_list(session, "c.transaction_id", "ids", false) +
                                     kMatchesGiftSource + " ORDER BY c.transaction_id, c.id");
}

std::vector<std::pair<ChangeId, std::string>> select_event_ids(soci::session& session,
                                                               const std::vector<std::int64_t>& changes) {
  const std::string list = sql::list_of(session, changes);
  std::pair<ChangeId, std::string> row;
  return sql::select_rows(row, session,
                          "SELECT change_id, event_id FROM change_event WHERE " +
                              sql::in_list(session, "change_id", "ids", false),
                          use(list), into(row.first), into(row.second));
}

/// For each change the first equal change of its batch, often itself.
class BatchDuplicates {
 public:
  explicit BatchDuplicates(std::span<const StatusChange> changes)
      : order_(changes.size()), first_(changes.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return identity_of(changes[a]) < identity_of(changes[b]);
    });
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const bool duplicates = i > 0 && identity_of(changes[order_[i - 1]]) == identity_of(changes[order_[i]]);
      first_[order_[i]] = duplicates ? first_[order_[i - 1]] : order_[i];
    }
  }
  /// Where the first one is.
  std::size_t of(std::size_t at) const { return first_[at]; }
  bool is_first(std::size_t at) const { return first_[at] == at; }
  /// All indices, grouped by gift.
  const std::vector<std::size_t>& in_gift_order() const { return order_; }

 private:
  std::vector<std::size_t> order_;
  std::vector<std::size_t> first_;
};

/// The logged changes at those indices, filtered by transaction and time.
std::vector<StatusChange> select_logged(soci::session& session, std::span<const StatusChange> changes,
                                        const std::vector<std::size_t>& of) {
  if (of.empty()) return {};
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> times;
  for (const std::size_t at : of) {
    ids.push_back(changes[at].transaction.value);
    times.push_back(changes[at].occurred_at.value);
  }
  const std::string id_list = sql::list_of(session, ids);
  const std::string time_list = sql::list_of(session, times);
  soci::statement statement(session);
  statement.exchange(use(id_list));
  statement.exchange(use(time_list));
  return read_changes(statement, sql::in_list(session, "c.transaction_id", "ids", false) + " AND " +
                                     sql::in_list(session, "c.occurred_at", "times", false));
}

/// The event ids that can still be added to repeated changes. A change that is reported once has its own
/// event id and needs no lookup.
class EventIdBudget {
 public:
  void watch(ChangeId id) { taken_.try_emplace(id); }

  /// Reads the repeated changes that were in the log before.
  void load_stored(soci::session& session, const std::unordered_set<ChangeId>& inserted) {
    std::vector<std::int64_t> ids;
    for (const auto& [id, taken] : taken_) {
      if (!inserted.contains(id)) ids.push_back(id.value);
    }
    if (ids.empty()) return;
    for (const auto& [id, event_id] : select_event_ids(session, ids)) taken_[id].push_back(event_id);
  }

  /// Whether the id is new to the change and below the limit.
  bool take(ChangeId id, const std::string& event_id) {
    const auto found = taken_.find(id);
    if (found == taken_.end()) return true;
    std::vector<std::string>& taken = found->second;
    if (taken.size() >= kMaxEventIds) return false;
    if (std::find(taken.begin(), taken.end(), event_id) != taken.end()) return false;
    taken.push_back(event_id);
    return true;
  }

 private:
  std::unordered_map<ChangeId, std::vector<std::string>> taken_;
};

/// `standing`: the id of each change in the log, or none.
void insert_events(soci::session& session, std::span<const StatusChange> changes,
                   const std::vector<std::optional<ChangeId>>& standing, EventIdBudget& budget) {
  sql::BulkInsert rows(session, "change_event", {{"change_id", Type::integer}, {"event_id", Type::text}},
                       "ON CONFLICT DO NOTHING");
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!standing[i]) continue;
    const std::vector<std::string>& ids = changes[i].event_ids;
    for (const std::string& event_id : std::span(ids).first(std::min(ids.size(), kMaxEventIds))) {
      if (budget.take(*standing[i], event_id)) rows.add({standing[i]->value, event_id});
    }
  }
  rows.run(session);
}

/// The outcomes of changes whose transactions are not all known: unknown ones are orphaned up to the limit of
/// their source, unless they are orphaned already. The others count as accepted until they are compared with
/// the log.
class AcceptClassifier {
 public:
  AcceptClassifier(soci::session& session, std::span<const StatusChange> changes,
                   const std::unordered_map<TransactionId, std::string>& known, OrphanCapacity* capacity)
      : session_(session), known_(known), capacity_(capacity ? *capacity : own_capacity_) {
    std::vector<std::size_t> unknown_changes;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!known_.contains(changes[i].transaction)) unknown_changes.push_back(i);
    }
    if (unknown_changes.empty()) return;
    logged_changes_ = select_logged(session, changes, unknown_changes);
    for (const StatusChange& logged_change : logged_changes_) seen_.insert(identity_of(logged_change));
  }

  AcceptOutcome outcome_of(const StatusChange& change) {
    const auto known = known_.find(change.transaction);
    if (known != known_.end())
      return is_applicable(change, known->second) ? AcceptOutcome::accepted : AcceptOutcome::other_source;
    if (seen_.contains(identity_of(change))) return AcceptOutcome::duplicate;
    std::int64_t& pending = pending_[change.source];
    if (!capacity_.take(session_, change.source, pending, change.received_at))
      return AcceptOutcome::too_many_orphaned;
    ++pending;
    seen_.insert(identity_of(change));
    return AcceptOutcome::orphaned;
  }

 private:
  soci::session& session_;
  const std::unordered_map<TransactionId, std::string>& known_;  // with their gift_sources
  OrphanCapacity own_capacity_;
  OrphanCapacity& capacity_;
  std::map<std::string, std::int64_t> pending_;  // orphaned ones that are not inserted yet
  std::vector<StatusChange> logged_changes_;
  std::set<Identity> seen_;  // of changes that outlive this: logged_changes_ and the caller's
};

std::unordered_set<ChangeId> insert_accepted(soci::session& session, std::span<const StatusChange> changes,
                                             const BatchDuplicates& first,
                                             const std::vector<AcceptOutcome>& outcomes) {
  std::vector<StatusChange> orphaned;
  orphaned.reserve(changes.size());
  std::vector<const StatusChange*> rows;
  rows.reserve(changes.size());
  for (const std::size_t at : first.in_gift_order()) {
    if (!first.is_first(at)) continue;
    if (outcomes[at] == AcceptOutcome::accepted) rows.push_back(&changes[at]);
    if (outcomes[at] == AcceptOutcome::orphaned) {
      orphaned.push_back(changes[at]);
      orphaned.back().orphaned = true;
      rows.push_back(&orphaned.back());
    }
  }
  return insert_changes(session, rows);
}

/// The log's unique key detects new changes, so the log is not read, except for duplicates that bring event
/// ids and for the event ids that they have.
void resolve_duplicates(soci::session& session, std::span<const StatusChange> changes,
                        const BatchDuplicates& first, const std::unordered_set<ChangeId>& inserted,
                        std::vector<AcceptOutcome>& outcomes) {
  std::vector<std::optional<ChangeId>> standing(changes.size());
  std::vector<std::size_t> logged_indexes;
  EventIdBudget budget;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (outcomes[i] == AcceptOutcome::too_many_orphaned || outcomes[i] == AcceptOutcome::other_source)
      continue;
    const ChangeId first_id = changes[first.of(i)].id;
    const bool first_is_new = inserted.contains(first_id);
    if (first_is_new) standing[i] = first_id;
    if (first_is_new && first.is_first(i)) continue;
    outcomes[i] = AcceptOutcome::duplicate;
    if (changes[i].event_ids.empty()) continue;
    if (first_is_new)
      budget.watch(first_id);
    else
      logged_indexes.push_back(i);
  }
  const std::vector<StatusChange> logged_changes = select_logged(session, changes, logged_indexes);
  std::map<Identity, ChangeId> logged;
  for (const StatusChange& logged_change : logged_changes)
    logged.emplace(identity_of(logged_change), logged_change.id);
  for (const std::size_t i : logged_indexes) {
    const auto logged_change = logged.find(identity_of(changes[i]));
    if (logged_change == logged.end()) continue;
    standing[i] = logged_change->second;
    budget.watch(logged_change->second);
  }
  budget.load_stored(session, inserted);
  insert_events(session, changes, standing, budget);
}

}  // namespace

std::vector<StatusChange> read_changes(soci::statement& statement, const std::string& rest) {
  StatusChange row;
  std::optional<UtcMillis> voided_at;
  std::optional<std::string> voided_by;
  std::optional<std::string> void_reason;
  kStatusChangeFields.each([&](const auto& field) { statement.exchange(into(field.of(row))); });
  statement.exchange(into(voided_at));
  statement.exchange(into(voided_by));
  statement.exchange(into(void_reason));
  statement.alloc();
  statement.prepare("SELECT " + sql::select_list(kStatusChangeFields, "c") +
                        ", c.voided_at, c.voided_by, c.void_reason FROM change_log c WHERE " + rest,
                    sql::kRunOnce);
  statement.define_and_bind();
  std::vector<StatusChange> changes;
  sql::each_row(statement, [&] {
    StatusChange& change = changes.emplace_back(row);
    if (voided_at) change.voiding = {*voided_at, voided_by.value_or(""), void_reason.value_or("")};
  });
  return changes;
}

std::unordered_map<TransactionId, std::string> find_gift_sources(soci::session& session,
                                                                 std::span<const TransactionId> ids) {
  sql::PreparedQuery row(session, "SELECT id, gift_source FROM recipient_transaction WHERE " +
                                      sql::in_list(session, "id", "list", false));
  std::unordered_map<TransactionId, std::string> known;
  known.reserve(ids.size());
  row.each_row({sql::list_of(session, ids)},
               [&] { known.emplace(TransactionId{row.integer(0)}, row.text(1)); });
  return known;
}

std::unordered_set<ChangeId> insert_changes(soci::session& session,
                                            std::span<const StatusChange* const> changes) {
  sql::BulkInsert rows(session, kStatusChangeFields.table, sql::bulk_columns(kStatusChangeFields),
                       "ON CONFLICT DO NOTHING");
  for (const StatusChange* change : changes) rows.add(sql::cells_of(kStatusChangeFields, *change));
  std::unordered_set<ChangeId> inserted;
  for (const std::int64_t id : rows.run_returning_keys(session)) inserted.insert({id});
  return inserted;
}

bool is_applicable(const StatusChange& change, const std::string& gift_source) {
  return gift_source == change.gift_source || gift_source == kAdoptedGiftSource;
}

std::unordered_map<TransactionId, std::string> known_transactions(soci::session& session,
                                                                  std::span<const StatusChange> changes) {
  if (changes.empty()) return {};
  return find_gift_sources(session, transactions_in(changes));
}

AcceptedChanges accept_without_sync(soci::session& session, std::span<const StatusChange> changes,
                                    const std::unordered_map<TransactionId, std::string>& known,
                                    OrphanCapacity* capacity) {
  AcceptedChanges accepted;
  if (changes.empty()) return accepted;
  AcceptClassifier admission(session, changes, known, capacity);
  accepted.outcomes.reserve(changes.size());
  for (const StatusChange& change : changes) accepted.outcomes.push_back(admission.outcome_of(change));
  const BatchDuplicates first(changes);
  const std::unordered_set<ChangeId> inserted = insert_accepted(session, changes, first, accepted.outcomes);
  resolve_duplicates(session, changes, first, inserted, accepted.outcomes);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (accepted.outcomes[i] == AcceptOutcome::accepted) accepted.to_sync.push_back(changes[i].transaction);
  }
  sort_unique(accepted.to_sync);
  return accepted;
}

std::vector<AcceptOutcome> accept_changes(soci::session& session, std::span<const StatusChange> changes,
                                          std::int64_t debounce_millis, OrphanCapacity* capacity) {
  if (changes.empty()) return {};
  AcceptedChanges accepted =
      accept_without_sync(session, changes, known_transactions(session, changes), capacity);
  enqueue_sync(session, accepted.to_sync, {changes.front().received_at.value + debounce_millis});
  return std::move(accepted.outcomes);
}

std::vector<AcceptOutcome> preview_changes(soci::session& session, std::span<const StatusChange> changes,
                                           const std::unordered_map<TransactionId, std::string>& known) {
  if (changes.empty()) return {};
  AcceptClassifier admission(session, changes, known, nullptr);
  std::vector<AcceptOutcome> outcomes;
  std::vector<std::size_t> all(changes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const StatusChange& change : changes) outcomes.push_back(admission.outcome_of(change));
  const std::vector<StatusChange> logged_changes = select_logged(session, changes, all);
  std::set<Identity> seen;
  for (const StatusChange& logged_change : logged_changes) seen.insert(identity_of(logged_change));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (outcomes[i] == AcceptOutcome::accepted && !seen.insert(identity_of(changes[i])).second)
      outcomes[i] = AcceptOutcome::duplicate;
  }
  return outcomes;
}

std::string spans_query(const std::string& condition) {
  return "SELECT c.transaction_id, c.status, c.premise, min(c.occurred_at) AS earliest, max(c.occurred_at) "
         "AS latest FROM change_log c WHERE " +
         condition + kMatchesGiftSource +
         " AND c.voided_at IS NULL GROUP BY c.transaction_id, c.status, c.premise";
}

ChangeSpan span_in(const sql::PreparedQuery& row, int at) {
  return {{row.integer(at)},
          status_from_word(row.text(at + 1)).value_or(Status::sent),
          premise_from_word(row.text(at + 2)).value_or(Premise::none),
          {row.integer(at + 3)},
          {row.integer(at + 4)}};
}

std::vector<ChangeSpan> select_spans(soci::session& session, std::span<const TransactionId> ids) {
  sql::PreparedQuery row(session, spans_query(sql::in_list(session, "c.transaction_id", "list", false)) +
                                      " ORDER BY c.transaction_id");
  std::vector<ChangeSpan> spans;
  row.each_row({sql::list_of(session, ids)}, [&] { spans.push_back(span_in(row, 0)); });
  return spans;
}

void read_event_ids(soci::session& session, std::vector<StatusChange>& changes) {
  if (changes.empty()) return;
  ChangesById by_id(changes);
  for (const auto& [id, event_id] : select_event_ids(session, by_id.ids()))
    by_id.at(id).event_ids.push_back(event_id);
  // Sorted here: the back ends' own order of texts differs.
  for (StatusChange& change : changes) std::sort(change.event_ids.begin(), change.event_ids.end());
}

void enqueue_sync(soci::session& session, const std::vector<TransactionId>& transactions, UtcMillis due) {
  // A mark that is due retains its position in the queue, so that a gift that changes all the time is not
  // delayed forever. An unclaimed mark already covers the new change, unless its gift was folded since.
  sql::BulkInsert marks = crm_outbox_rows(
      session,
      "ON CONFLICT (transaction_id) DO UPDATE SET mark_seq = "
      "crm_outbox.mark_seq + 1, attempts = 0, is_rejected = 0, to_fold = 1, next_attempt_at = "
      "CASE WHEN crm_outbox.next_attempt_at < excluded.next_attempt_at THEN "
      "crm_outbox.next_attempt_at ELSE excluded.next_attempt_at END WHERE "
      "crm_outbox.lease_owner <> '' OR crm_outbox.attempts > 0 OR crm_outbox.to_fold <> 1 OR "
      "crm_outbox.next_attempt_at > excluded.next_attempt_at",
      MarkKind::change);
  // In one order everywhere, so that no two transactions wait for each other (ARCH-40).
  sql::BulkInsert feed = feed_mark_rows(session);
  const bool is_in_feed = keeps_feed(session);
  for (const TransactionId id : std::set(transactions.begin(), transactions.end())) {
    add_crm_outbox_row(marks, id, due, MarkKind::change);
    if (is_in_feed) add_feed_mark(feed, FeedMarkKind::gift, id.value, feed_reason::kChanged, due);
  }
  if (is_in_feed)
    sql::BulkInsert::run_combined(session, {&marks, &feed});
  else
    marks.run(session);
}

ChangeLog::ChangeLog(const std::shared_ptr<sql::Database>& database)
    : database_(database), change_ids_(database, "status_change") {}

std::vector<StatusChange> ChangeLog::with_ids(std::span<const StatusChange> changes) {
  std::vector<StatusChange> result(changes.begin(), changes.end());
  if (result.empty()) return result;
  std::int64_t id = change_ids_.allocate(static_cast<std::int64_t>(result.size()));
  for (StatusChange& change : result) change.id = {id++};
  return result;
}

std::vector<AcceptOutcome> ChangeLog::accept(std::span<const StatusChange> changes,
                                             std::int64_t debounce_millis) {
  const std::vector<StatusChange> all = with_ids(changes);
  return database_->write([&](soci::session& session) {
    return accept_changes(session, all, debounce_millis, &orphan_capacity_);
  });
}

std::vector<ChangeSpan> ChangeLog::spans_of(std::span<const TransactionId> transactions) {
  return database_->read([&](soci::session& session) { return select_spans(session, transactions); });
}

std::vector<StatusChange> ChangeLog::changes_of(std::span<const TransactionId> transactions) {
  return database_->read([&](soci::session& session) { return select_changes(session, transactions); });
}

std::vector<StatusChange> ChangeLog::history(TransactionId transaction) {
  return database_->snapshot([&](soci::session& session) {
    std::vector<StatusChange> changes = select_changes(session, std::span(&transaction, 1));
    const auto key = [](const StatusChange& change) {
      return std::tuple(change.occurred_at, change.status, change.premise, std::string_view(change.source));
    };
    std::sort(changes.begin(), changes.end(),
              [&](const StatusChange& a, const StatusChange& b) { return key(a) < key(b); });
    read_event_ids(session, changes);
    read_audit(session, changes);
    return changes;
  });
}

std::int64_t ChangeLog::apply_orphaned(UtcMillis now, UtcMillis received_since) {
  // A source with edited settings may have been misread: its payloads are reprocessed first.
  const std::string gift_exists = "orphaned = 1 AND received_at >= :since AND " +
                                  gift_exists_condition("change_log") +
                                  " AND NOT EXISTS (SELECT 1 FROM source s WHERE s.name = change_log.source "
                                  "AND s.reprocess_fingerprint <> '')";
  const auto appeared = [&](soci::session& session) {
    // Not DISTINCT: SQLite would scan the whole log by its unique index instead of only the orphaned changes.
    std::vector<TransactionId> ids = sql::select_column<TransactionId>(
        session, "SELECT transaction_id FROM change_log WHERE " + gift_exists, use(received_since));
    sort_unique(ids);
    return ids;
  };
  // The check is cheap and nearly always finds nothing; the write transaction starts only when it finds
  // something.
  if (database_->read(appeared).empty()) return 0;
  orphan_capacity_.forget();
  return database_->write([&](soci::session& session) {
    const std::vector<TransactionId> ids = appeared(session);
    const std::string list = sql::list_of(session, ids);
    const std::int64_t released =
        sql::change_rows(session,
                         "UPDATE change_log SET orphaned = 0 WHERE " + gift_exists + " AND " +
                             sql::in_list(session, "transaction_id", "ids", false),
                         use(received_since), use(list));
    delete_orphaned_payloads(session, ids);
    enqueue_sync(session, ids, now);
    return released;
  });
}

std::int64_t ChangeLog::count_orphaned() {
  return database_->read(
      [](soci::session& session) { return count_bounded(session, "change_log WHERE orphaned = 1"); });
}

NextChange::NextChange(const sql::Dsn& dsn) : database_(sql::Database::shared(dsn)) {}

NextChange::~NextChange() {
  drop_event();
}

void NextChange::drop_event() {
  database_->add_to_next_change(nullptr);
}

void NextChange::set_event(AuditEvent event) {
  database_->add_to_next_change([event = std::move(event), done = has_inserted_](soci::session& session) {
    insert_audit_event(session, event);
    *done = true;
  });
}

}  // namespace giftsync::store
