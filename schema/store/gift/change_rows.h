// schema/store: changes and their rows, inside the caller's transaction. Included by this folder's .cpp
// files only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "schema/sql/prepared_query.h"
#include "schema/sql/soci_conversions.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/sync_queue.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// The maximum of stored event ids per change. A source that reports the same change again and again
/// under new ids would otherwise fill the store; some ids show the origin of a change as well as all of
/// them.
inline constexpr std::size_t kMaxEventIds = 100;

/// The identity of a change. Refers to a change that outlives it.
using Identity = std::tuple<TransactionId, Status, Premise, UtcMillis, std::string_view>;
inline Identity identity_of(const StatusChange& change) {
  return {change.transaction, change.status, change.premise, change.occurred_at, change.source};
}

/// As ChangeLog::accept; the changes have their ids already. Without `capacity` the orphaned changes are
/// counted each time.
std::vector<AcceptOutcome> accept_changes(soci::session& session, std::span<const StatusChange> changes,
                                          std::int64_t debounce_millis = 0,
                                          OrphanCapacity* capacity = nullptr);

/// The outcomes of accepted changes, and the transactions that the caller has to enqueue for the sync
/// workers.
struct AcceptedChanges {
  std::vector<AcceptOutcome> outcomes;
  std::vector<TransactionId> to_sync;
};

/// As accept_changes, without enqueueing. `known`: those of the changes' transactions that exist, with their
/// gift_sources.
AcceptedChanges accept_without_sync(soci::session& session, std::span<const StatusChange> changes,
                                    const std::unordered_map<TransactionId, std::string>& known,
                                    OrphanCapacity* capacity = nullptr);

/// The existing transactions of changes, with their gift_sources.
std::unordered_map<TransactionId, std::string> known_transactions(soci::session& session,
                                                                  std::span<const StatusChange> changes);

/// A change of a transaction with that gift_source applies to it.
bool is_applicable(const StatusChange& change, const std::string& gift_source);

/// The outcomes that accept_changes would have, without a change. `known`: the transactions that would exist
/// then, with their gift_sources.
std::vector<AcceptOutcome> preview_changes(soci::session& session, std::span<const StatusChange> changes,
                                           const std::unordered_map<TransactionId, std::string>& known);

/// The transactions that exist.
std::unordered_map<TransactionId, std::string> find_gift_sources(soci::session& session,
                                                                 std::span<const TransactionId> ids);

/// An SQL condition: the gift of a change in this table exists. Changes of every source apply to an
/// adopted gift.
inline std::string gift_exists_condition(const std::string& changes) {
  return "EXISTS (SELECT 1 FROM recipient_transaction t WHERE t.id = " + changes +
         ".transaction_id AND t.gift_source IN (" + changes + ".gift_source, '" +
         std::string(kAdoptedGiftSource) + "'))";
}

/// Inserts changes unmodified, orphaned or not; returns the ids of the new ones.
std::unordered_set<ChangeId> insert_changes(soci::session& session,
                                            std::span<const StatusChange* const> changes);

/// The counting changes c that satisfy `condition`, one row for each span: transaction_id, status, premise,
/// earliest, latest.
std::string spans_query(const std::string& condition);
/// From a row whose columns from index `at` on are those of spans_query().
ChangeSpan span_in(const sql::PreparedQuery& row, int at);

/// As ChangeLog::spans_of.
std::vector<ChangeSpan> select_spans(soci::session& session, std::span<const TransactionId> ids);

/// Changes that have ids, as targets for further stored data. They must outlive it.
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
void read_event_ids(soci::session& session, std::vector<StatusChange>& changes);

/// Adds the audit (voided, restored) to changes that have ids.
void read_audit(soci::session& session, std::vector<StatusChange>& changes);

/// Puts the transactions into the sync queue, or increments their marks; none is delayed. Marks them for the
/// feed too.
void enqueue_sync(soci::session& session, const std::vector<TransactionId>& transactions, UtcMillis due);

/// Deletes the dependent rows of changes: event ids and audit.
void delete_change_details(soci::session& session, const std::vector<std::int64_t>& changes);

/// The gift's counting changes have changed: enqueues its record and makes it due for the timer.
void refold(soci::session& session, TransactionId transaction, UtcMillis now);

/// As SyncQueue::save_folded, of gifts that the caller has locked.
std::vector<TransactionId> save_folded_rows(soci::session& session, std::span<const FoldedState> folded);

/// Saves each decision unless there is one already.
void insert_sync_states(soci::session& session, std::span<const CrmSyncState> sync_states);

void insert_actions(soci::session& session, std::span<const GiftAction> actions);

/// The changes of "SELECT ... FROM change_log c WHERE <rest>". The statement has the parameters of `rest` and
/// is not allocated yet.
std::vector<StatusChange> read_changes(soci::statement& statement, const std::string& rest);

// A decision about a gift, inside the caller's transaction. Included by this folder's .cpp
// files only.

/// Thrown to roll back a decision together with its partly applied effect.
struct EffectUnavailable {};

/// As ChangeLog::accept_if, except that the caller enqueues the gift of an accepted decision for the sync
/// workers; throws EffectUnavailable. `change`: the decision's, with its id.
ConditionalOutcome decide(soci::session& session, const StatusChange& change,
                          const AcceptCondition& condition, const TransactionEffect& effect);

}  // namespace giftsync::store
