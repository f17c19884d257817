// schema/store: the queue of transactions whose state the CRM does not have, and their CRM sync state.
// Claims are leases timed by the database's clock; when the owner dies, another worker claims the row
// after the lease expired.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_action.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/statements/audit_log.h"
#include "schema/store/statements/claim_floor.h"

namespace giftsync::store {

struct SyncClaim {
  TransactionId transaction;
  std::int64_t mark_seq = 0;
  std::int64_t attempts = 0;
  UtcMillis due_since = {};  ///< when the change came that the CRM lacks, or when its first attempt failed
  bool is_folded = false;    ///< the gift's row has the status of its changes (fold_waiting)
};

/// The sync state of a transaction.
enum class CrmSyncStatus {
  decided,  ///< matched, not written yet
  written,
  skipped,   ///< no match, and the settings say: create no record
  deleted,   ///< its record was deleted in the CRM
  rejected,  ///< the CRM refuses it; `error` has the reason
};
std::string_view to_word(CrmSyncStatus state);
std::optional<CrmSyncStatus> crm_sync_status_from_word(std::string_view word);

/// The state of the task of a gift in the CRM.
enum class TaskState {
  none,       ///< the gift was matched while tasks were off
  wanted,     ///< to be created with its record
  open,       ///< created
  completed,  ///< created and completed
  deleted,    ///< deleted in the CRM: not created again
};
std::string_view to_word(TaskState state);

/// The match decision of a gift, made once and reused by every retry.
struct MatchDecision {
  std::string contact_id;
  std::string account_id;
  std::string lead_id;
  std::string opportunity_id;
  std::string deal_stage;
  std::string sender_id;
  std::string reason;    ///< readable sentences
  std::string warnings;  ///< readable, one per line
};

struct CrmSyncState {
  TransactionId transaction;
  CrmSyncStatus state = CrmSyncStatus::decided;
  UtcMillis decided_at;
  MatchDecision decision;
  std::int64_t written_version = 0;
  std::string error;
  bool needs_relink = false;  ///< the CRM refused a lookup, or one refers to a deleted row
  TaskState task = TaskState::none;
  std::string linked_by{};  ///< the admin who linked the gift (MATCH-32); empty: decided by the rules
  // Ids in the CRM (SYNC-69); empty: not known.
  std::string crm_id{};       ///< of the gift record
  std::string task_crm_id{};  ///< of its task

  /// Whether giftsync is known to have written the gift's record. If not, a record with this
  /// Transaction Id may be an unknown one (or the response was lost), unless the gift was sent
  /// elsewhere.
  bool was_written() const { return written_version > 0; }
  /// Whether the CRM has an unknown record with this Transaction Id: the write was refused for that
  /// reason (id_conflict_reason) and for no other.
  bool has_id_conflict() const;
};

/// Selects the sync states for a rematch.
enum class RematchScope {
  unmatched,     ///< without a match (skipped ones included) or with a lost lookup; not those with a deleted
                 ///< record
  needs_relink,  ///< with a lost lookup
  linked_to_lead,
};

/// A decision of an admin's command that replaces the one that was read. Its sender stays unchanged.
struct DecisionUpdate {
  CrmSyncState sync_state;
  UtcMillis expected_decided_at;
  bool create_record = false;                       ///< there is no record yet: the sync worker creates it
  std::optional<GiftAction> action = std::nullopt;  ///< recorded with the decision
  std::optional<AuditEvent> audit = std::nullopt;   ///< likewise
};

/// A transaction's new folded state; saved only over the version that it was folded from.
struct FoldedState {
  TransactionId transaction;
  std::int64_t from_version = 0;
  Status status = Status::sent;
  StatusTimes times;  ///< the sent time is always set
  bool has_conflict = false;
  std::optional<UtcMillis> due_at = std::nullopt;       ///< when a timer next checks it
  Status from_status = Status::sent;                    ///< of that version
  std::optional<std::string> published = std::nullopt;  ///< what the feed then has of it; null: as it is
  std::optional<CountedGift> counted = std::nullopt;    ///< of that version; null: it is not counted
};

/// A gift whose changes wait to be folded.
struct WaitingGift {
  Gift gift;
  std::vector<ChangeSpan> spans = {};  ///< those that count
};
/// One for each gift, in order; nullopt where the row has the state. It may run more than once.
using FoldFunction =
    std::function<std::vector<std::optional<FoldedState>>(std::span<const WaitingGift> gifts)>;

struct FoldRun {
  std::size_t taken = 0;  ///< gifts that were looked at
  TransactionId last;     ///< of those the highest
  /// What was saved, with the rows as they were, both in the order of the ids.
  std::vector<FoldedState> folded = {};
};

/// The outcome of one claim.
struct SyncClose {
  SyncClaim claim;
  bool done = true;  ///< false: retried at retry_at
  UtcMillis retry_at;
  std::string error;
  std::optional<CrmSyncState> sync_state;  ///< state, written_version, error, task and Ids to save
  bool has_cleared_lookups = false;        ///< also clears the sync_state's ids and sets needs_relink
  bool is_rejected = false;  ///< not done because the CRM refuses the row as it is; rests until retry_at
  bool is_attempt = true;    ///< not done: counts as an attempt
  /// Not done: when it failed, by the clock of audit events; zero: it was not tried, and when it failed
  /// stays.
  UtcMillis failed_at = {};
};

/// When a gift's record is tried next.
struct SyncWait {
  UtcMillis next_attempt_at;
  std::int64_t attempts = 0;  ///< that failed in a row
  bool is_rejected = false;   ///< by the CRM, as it is
  std::string last_error;     ///< empty when nothing failed
};

class SyncQueue {
 public:
  explicit SyncQueue(std::shared_ptr<sql::Database> database);

  std::vector<SyncClaim> claim(const std::string& owner, std::int64_t lease_millis, std::size_t limit,
                               UtcMillis now);
  /// The claims that `owner` still holds, in their order; each is held for at least half of `lease_millis`
  /// from now on. To be called before each write to the CRM: another worker has taken over the others. One
  /// read, unless half of a lease has passed.
  std::vector<SyncClaim> renew(const std::string& owner, std::int64_t lease_millis,
                               std::span<const SyncClaim> claims);
  /// Saves the states whose version is still the one they were folded from, as version + 1; returns the
  /// saved ids.
  std::vector<TransactionId> save_folded(std::span<const FoldedState> folded);
  /// Folds gifts with an id above `after` whose change came before `came_before` and was not folded since, at
  /// most `limit`, in one transaction, without a claim: so statuses do not wait for the CRM (NUM-6). Gifts
  /// that another transaction holds are left to the next run; nothing here waits for one.
  FoldRun fold_waiting(TransactionId after, std::size_t limit, UtcMillis came_before,
                       const FoldFunction& fold);
  /// Saves each decision unless there is one already; returns the stored ones, by transaction.
  std::vector<CrmSyncState> insert_decisions(std::span<const CrmSyncState> decisions);
  std::vector<CrmSyncState> find_states(std::span<const TransactionId> transactions);
  /// Sync states of one kind with a transaction above `after`, ascending.
  std::vector<CrmSyncState> list_states_in(CrmSyncStatus state, TransactionId after, std::size_t limit);
  std::vector<CrmSyncState> list_states_to_rematch(RematchScope scope, TransactionId after,
                                                   std::size_t limit);
  /// Saves those whose decision is still the one that was read and, of those without a record, that no
  /// daemon is writing at the moment; returns their transactions.
  std::vector<TransactionId> update_decisions(std::span<const DecisionUpdate> decisions, UtcMillis now);
  /// Closes claims; a transaction that changed meanwhile stays in the queue.
  void close(const std::string& owner, std::span<const SyncClose> closes);
  /// Makes debounced rows (ChangeLog::accept) due now, but not retries.
  void end_debounce(UtcMillis now);
  /// Makes rows due that are debounced or delayed until after `latest`, but not rejected ones; returns how
  /// many. As the next two, it adds the event with the number of rows behind its detail, if there are any, in
  /// the same transaction: this one and the next in that of each batch of 20,000 rows.
  std::int64_t reset_scheduled_after(UtcMillis latest, UtcMillis now,
                                     const std::optional<AuditEvent>& audit = {});
  /// Makes rejected rows due that rest until after `latest`; returns how many. With `now` as `latest`: all.
  std::int64_t reset_rejected_after(UtcMillis latest, UtcMillis now,
                                    const std::optional<AuditEvent>& audit = {});
  /// Makes the rejected rows of these gifts due that rest; returns how many.
  std::int64_t reset_rejected(std::span<const TransactionId> transactions, UtcMillis now,
                              const std::optional<AuditEvent>& audit = {});
  /// Nothing when the CRM has the gift's current state.
  std::optional<SyncWait> find_wait(TransactionId transaction);
  /// A whole batch failed: releases the gifts that `owner` has claimed and stores `fault` as their last
  /// error. It does not count as an attempt, because the gifts are not the cause; they continue as soon
  /// as the CRM works again, and until then are not rejected: their rest is over.
  void release_with_error(const std::string& owner, const std::string& fault);
  /// Ends every lease of `owner`: a starting daemon releases the leases of its crashed predecessor.
  void release_leases(const std::vector<std::string>& owners);
  /// Shortens every lease that runs longer than that, of any owner.
  void cap_leases(std::int64_t max_millis);

  /// The CRM is another one now: the Ids of all records and tasks are deleted. Returns of how many gifts.
  std::int64_t forget_crm_ids();

  struct Counts {  ///< without test gifts; bounded (bounded_count.h)
    std::int64_t waiting = 0;
    std::int64_t failing = 0;                   ///< waiting after at least one failure
    std::int64_t rejected = 0;                  ///< of these refused by the CRM as they are
    std::optional<UtcMillis> next_rejected_at;  ///< when the first of them is tried again
    std::string last_error;                     ///< the one that most of the failing gifts share
    std::optional<UtcMillis> oldest_due;        ///< ten seconds later at most
  };
  Counts counts();
  /// Bounded (bounded_count.h). Of decided and written ones it is slow.
  std::int64_t count_states(CrmSyncStatus state);

 private:
  std::shared_ptr<sql::Database> database_;
  ClaimLowerBound floor_;
};

}  // namespace giftsync::store
