// schema/store: changes and their rows, inside a transaction that may do more, as the outbox's does. Included
// by this folder's .cpp files only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schema/database_address.h"
#include "schema/sql/soci_types.h"
#include "schema/store/change_log.h"
#include "schema/store/sync_queue.h"

namespace giftsync::schema::sql {

/// How many event ids are kept of one change. A source that reports the same thing again and again, each time
/// under a fresh id, would otherwise fill the store; some tell as well as all of them where a change came
/// from.
inline constexpr std::size_t kMaxEventIds = 100;

/// What makes a change the same as another one. Of a change that outlives it.
using Identity = std::tuple<TransactionId, Status, Premise, UtcMillis, std::string_view>;
inline Identity identity_of(const StatusChange& change) {
  return {change.transaction, change.status, change.premise, change.occurred_at, change.source};
}

/// As ChangeLog::accept; the changes are numbered already.
std::vector<AcceptOutcome> accept_changes(soci::session& session, Dialect dialect,
                                          std::span<const StatusChange> changes,
                                          std::int64_t rest_millis = 0);

/// Those of the transactions that exist.
std::unordered_map<TransactionId, std::string> known_transactions(soci::session& session, Dialect dialect,
                                                                  std::span<const TransactionId> ids);

/// An SQL condition: the gift that a change of this table is about is there. An adopted gift is anybody's.
inline std::string exists_for(const std::string& changes) {
  return "EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = " + changes +
         ".transaction_id AND t.origin IN (" + changes + ".origin, '" + std::string(kAdoptedOrigin) + "'))";
}

/// Inserts changes as they are, held or not; returns the ids of those that were not there yet.
std::unordered_set<ChangeId> insert_changes(soci::session& session, Dialect dialect,
                                            std::span<const StatusChange* const> changes);

/// As ChangeLog::spans_of.
std::vector<ChangeSpan> select_spans(soci::session& session, Dialect dialect,
                                     std::span<const TransactionId> ids);

/// Changes that have ids, to add to what else the store keeps of them. They must outlive it where they are.
class ChangesById {
 public:
  explicit ChangesById(std::vector<StatusChange>& changes) {
    for (StatusChange& change : changes) places_.emplace(change.id, &change);
  }
  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> ids;
    for (const auto& [id, unused] : places_) ids.push_back(id.value);
    return ids;
  }
  StatusChange& at(ChangeId id) { return *places_.at(id); }

 private:
  std::unordered_map<ChangeId, StatusChange*> places_;
};

/// Adds the event ids to changes that have ids.
void read_event_ids(soci::session& session, Dialect dialect, std::vector<StatusChange>& changes);

/// Adds to changes that have ids by whom they were voided and restored.
void read_reviews(soci::session& session, Dialect dialect, std::vector<StatusChange>& changes);

/// Puts the transactions into the sync queue, or moves their marks on; none is put off.
void mark_for_sync(soci::session& session, Dialect dialect, const std::vector<TransactionId>& transactions,
                   UtcMillis due);

/// Forgets what is kept of changes beside their rows: event ids and reviews.
void forget_traces(soci::session& session, Dialect dialect, const std::vector<std::int64_t>& changes);

/// Something else counts of the gift now: its record follows, and a timer finds out what comes next.
void reckon_anew(soci::session& session, Dialect dialect, TransactionId transaction, UtcMillis now);

/// Keeps each decision unless there is one already.
void insert_mirrors(soci::session& session, Dialect dialect, std::span<const GiftMirror> mirrors);

/// The columns of change_log c, and the variables they are fetched into.
class ChangeRow {
 public:
  static constexpr std::string_view kColumns =
      "c.id, c.source, c.transaction_id, c.status, c.premise, c.occurred_at, c.received_at, c.held, "
      "c.voided_at, c.voided_by, c.void_reason, c.origin";
  void bind(soci::statement& statement) {
    statement.exchange(soci::into(row_.id));
    statement.exchange(soci::into(row_.source));
    statement.exchange(soci::into(row_.transaction));
    statement.exchange(soci::into(status_));
    statement.exchange(soci::into(premise_));
    statement.exchange(soci::into(row_.occurred_at));
    statement.exchange(soci::into(row_.received_at));
    statement.exchange(soci::into(held_));
    statement.exchange(soci::into(voided_at_));
    statement.exchange(soci::into(voided_by_));
    statement.exchange(soci::into(void_reason_));
    statement.exchange(soci::into(row_.origin));
  }
  StatusChange value() const {
    StatusChange change = row_;
    change.status = status_from_word(status_).value_or(Status::sent);
    change.premise = premise_from_word(premise_).value_or(Premise::none);
    change.held = held_ != 0;
    if (voided_at_) change.voiding = {*voided_at_, voided_by_.value_or(""), void_reason_.value_or("")};
    return change;
  }

 private:
  StatusChange row_;
  std::string status_;
  std::string premise_;
  long long held_ = 0;
  std::optional<UtcMillis> voided_at_;
  std::optional<std::string> voided_by_;
  std::optional<std::string> void_reason_;
};

}  // namespace giftsync::schema::sql
