// schema/store: the log of status changes. Accepting a change inserts one durable row; the sync step's
// fold evaluates it later. Duplicates have the same (source, transaction, status, time) and are stored
// once (STATUS-17). Nothing is ever deleted from the log of a known gift: a wrong change is voided, stays,
// and can be restored.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/sql/dsn.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/statements/audit_log.h"

namespace soci {
class session;
}

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

// The side effect of a decision (a gift code, a donation, the withdrawal of a mail), written
// in the decision's own transaction: both are committed or neither.

class TransactionEffect {
 public:
  /// No effect.
  TransactionEffect() = default;
  /// For schema/'s own functions: `apply` returns false when the effect is impossible.
  template <class Write>
  requires std::predicate<Write, soci::session&> TransactionEffect(Write apply)
      : apply_(std::move(apply)) {}  // NOLINT(google-explicit-constructor)

  /// This effect and then `next`, unless this one is impossible.
  TransactionEffect and_then(TransactionEffect next) const {
    return [first = *this, second = std::move(next)](soci::session& session) {
      return first.apply(session) && second.apply(session);
    };
  }

  /// Inside the decision's transaction.
  bool apply(soci::session& session) const { return !apply_ || apply_(session); }

 private:
  std::function<bool(soci::session&)> apply_;
};

// How many more changes of a source may be orphaned (kMaxOrphanedChanges). They are counted in
// an index, which takes 15 ms at the limit, so a count serves many changes: it allows half of what is free,
// at most kMaxAllowance, without another count. A source is over its limit by at most that much for each
// further daemon. Any thread.

class OrphanCapacity {
 public:
  static constexpr std::int64_t kMaxAllowance = 1'000;
  /// A full source is counted again after so long.
  static constexpr std::int64_t kRecountMillis = 1'000;

  /// Whether one more change of the source may be orphaned at `now`. `pending`: those of the caller that are
  /// not inserted yet. Counts in the caller's transaction.
  bool take(soci::session& session, const std::string& source, std::int64_t pending, UtcMillis now);
  /// Fewer changes are orphaned now: a full source is counted again.
  void forget();

 private:
  struct Source {
    std::int64_t allowance = 0;
    bool is_full = false;
    UtcMillis full_at;
  };
  std::mutex mutex_;
  std::map<std::string, Source> sources_;  // guarded by mutex_
};

/// Counted in an index alone.
std::int64_t count_orphaned_changes(soci::session& session, const std::string& source);

/// Who voided or restored a change, when and why.
struct AuditStamp {
  UtcMillis at;
  std::string by;
  std::string reason;
};
enum class AuditAction { voided, restored };
std::string_view to_word(AuditAction kind);
struct ChangeAuditEntry : AuditStamp {
  AuditAction kind = AuditAction::voided;
};

struct StatusChange {
  ChangeId id;  ///< allocated by the log
  std::string source;
  TransactionId transaction;
  Status status = Status::delivered;
  UtcMillis occurred_at;
  UtcMillis received_at;
  std::vector<std::string> event_ids;
  Premise premise = Premise::none;                   ///< of changes that a timer made
  bool orphaned = false;                             ///< its transaction is not known yet; set by the log
  std::optional<AuditStamp> voiding = std::nullopt;  ///< set by the log while the change is voided
  std::string gift_source{};  ///< of the transactions it may apply to: empty for giftsync's own, else the
                              ///< source's name
  std::vector<ChangeAuditEntry>
      audit{};  ///< set by the log in listings and histories; in chronological order
};

/// All counting changes of a transaction with one status and premise: the first and the last time. The
/// fold needs only these, however many changes there are.
struct ChangeSpan {
  TransactionId transaction;
  Status status = Status::delivered;
  Premise premise = Premise::none;
  UtcMillis earliest;
  UtcMillis latest;
};

enum class AcceptOutcome {
  accepted,
  duplicate,          ///< known already; nothing changed (a new event id is added to the stored ones)
  orphaned,           ///< its transaction is unknown; applied when it appears
  too_many_orphaned,  ///< the source has kMaxOrphanedChanges already; not accepted
  other_source,       ///< its transaction belongs to another source or to giftsync; not accepted
};
inline constexpr std::int64_t kMaxOrphanedChanges = 100'000;

/// Whether a change is allowed, given all changes that count. Pure: it may be called more than once.
using AcceptCondition = std::function<bool(UtcMillis sent_at, std::span<const ChangeSpan> so_far)>;

enum class ConditionalOutcome {
  accepted,
  refused,              ///< by the condition
  unknown_transaction,  ///< there is no such transaction
  effect_unavailable,   ///< the condition allows it, but the effect is impossible (no gift code is left)
};

/// An outcome of a gift that giftsync decides itself, see ChangeLog::accept_if.
struct Decision {
  StatusChange change;
  AcceptCondition condition;
  TransactionEffect effect{};
};

enum class VoidOutcome { voided, already_voided, unknown };

/// The outcome of restoring a change.
struct RestoreOutcome {
  enum class Kind {
    restored,
    orphaned,    ///< its transaction is unknown; applied when it appears
    not_voided,  ///< nothing changed
    unknown,
    too_many_orphaned,  ///< it would be orphaned, but its source has kMaxOrphanedChanges; it stays voided
    other_source,       ///< its transaction belongs to another source or to giftsync; it stays voided
  };
  Kind kind = Kind::unknown;
  TransactionId transaction;  ///< the change's transaction
  std::string source;         ///< the source that reported the change
  std::string gift_of{};      ///< with other_source: the source that owns the transaction; empty for giftsync
};

/// Filter for listings; an empty field matches all.
struct ChangeFilter {
  std::optional<TransactionId> transaction;
  std::optional<std::string> source;
  bool orphaned_only = false;
  bool test = false;  ///< those of test gifts alone, which are listed by it, or by their gift, only
};

/// By id, ascending or descending.
enum class ChangeOrder { oldest_first, newest_first };

class ChangeLog {
 public:
  explicit ChangeLog(const std::shared_ptr<sql::Database>& database);

  /// One outcome per change, in one transaction: durable on return. Enqueues the transactions for the
  /// sync workers, due after `debounce_millis` at the latest: a caller that brings many changes per
  /// gift delays them until the last one (SyncQueue::end_debounce), so that each gift is written once.
  std::vector<AcceptOutcome> accept(std::span<const StatusChange> changes, std::int64_t debounce_millis = 0);

  /// Conditional accept of outcomes that giftsync itself decides (STATUS-7): one transaction locks the
  /// gift, passes all counting changes to `condition`, and inserts the change together with its effect;
  /// otherwise it inserts nothing. In a batch the result is the same as for one call after the other.
  ConditionalOutcome accept_if(const StatusChange& change, const AcceptCondition& condition,
                               const TransactionEffect& effect = {});
  /// For accept_if: accepts one more change of the same gift in the same transaction.
  TransactionEffect additional_change(const StatusChange& change);

  /// The counting changes of those transactions, by transaction.
  std::vector<ChangeSpan> spans_of(std::span<const TransactionId> transactions);
  /// All changes of those transactions, also voided ones, by transaction and id, without event ids and
  /// audit.
  std::vector<StatusChange> changes_of(std::span<const TransactionId> transactions);
  /// The changes of one transaction with their event ids and audit, by the time they occurred. The
  /// order of arrival has no influence.
  std::vector<StatusChange> history(TransactionId transaction);
  /// Changes with their event ids and audit, one page: those that follow `after` in that order, or the
  /// first ones without it.
  std::vector<StatusChange> list(const ChangeFilter& filter, ChangeOrder order, std::optional<ChangeId> after,
                                 std::size_t limit);

  /// Voids a change: its source may report it again without effect. The first voiding is retained until
  /// the change is restored. Enqueues the transaction for the sync workers.
  VoidOutcome void_change(ChangeId id, const AuditStamp& voiding);
  /// Lets a voided change count again, or be orphaned again, as if it arrived now. It does not repeat
  /// the change's effect, which stayed with the gift. Enqueues the transaction for the sync workers.
  RestoreOutcome restore_change(ChangeId id, const AuditStamp& restoring);

  /// Applies orphaned changes whose transaction has appeared, of those received since then; returns how
  /// many. The first fold of a new transaction includes its orphaned changes anyway; what remains are
  /// changes that arrived at the same moment, so the worker has to check only the latest ones. Changes
  /// of sources whose orphaned payloads have yet to be reprocessed (Sources::begin_reprocessing) stay
  /// orphaned.
  std::int64_t apply_orphaned(UtcMillis now, UtcMillis received_since = {0});
  /// Bounded (bounded_count.h).
  std::int64_t count_orphaned();
  std::int64_t count_orphaned(const std::string& source, UtcMillis received_before);
  /// Deletes a source's orphaned changes that were received before a time, and their payloads; returns
  /// how many changes. Payloads whose changes are all voided are deleted too.
  std::int64_t purge_orphaned(const std::string& source, UtcMillis received_before);

 private:
  friend class DeliveryQueue;   // accepts its changes in the transaction of their delivery
  friend class LifecycleStore;  // likewise, in the transaction of the timer's decision
  friend class Sources;         // likewise, in the transaction of the message or page
  friend class UrgentWrites;    // likewise, in the transaction of a group
  std::vector<StatusChange> with_ids(std::span<const StatusChange> changes);
  /// accept_if() of a change that has its id.
  ConditionalOutcome decide_alone(const StatusChange& with_id, const AcceptCondition& condition,
                                  const TransactionEffect& effect);
  bool is_stored(ChangeId id);

  std::shared_ptr<sql::Database> database_;
  IdBlock change_ids_;
  OrphanCapacity orphan_capacity_;
};

// The audit event of a program that does one thing after another, a command: it is inserted by
// the transaction of the next change, whatever that changes (CON-8).

/// Main thread. A destroyed one inserts nothing more.
class NextChange {
 public:
  /// Shares the connections of a Store of the same dsn.
  explicit NextChange(const sql::Dsn& dsn);
  ~NextChange();
  NextChange(const NextChange&) = delete;
  NextChange& operator=(const NextChange&) = delete;

  /// With the next transaction that changes a row, instead of an event that still waits for one.
  void set_event(AuditEvent event);
  /// The event that still waits for a change is not inserted.
  void drop_event();
  /// Whether an event was inserted, since the beginning.
  bool has_inserted() const { return *has_inserted_; }

 private:
  std::shared_ptr<sql::Database> database_;
  std::shared_ptr<bool> has_inserted_ = std::make_shared<bool>(false);
};

}  // namespace giftsync::store
