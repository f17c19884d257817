// schema/store: what the CRM does not know yet, and what it has been told. Claims are leases timed by the
// database's clock; a claim whose holder died is taken by another when its lease has run out.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/gift_ledger.h"
#include "schema/time.h"

namespace giftsync::schema {

struct SyncClaim {
  TransactionId transaction;
  std::int64_t seq = 0;
  std::int64_t attempts = 0;
};

/// Where the mirror of a transaction in the CRM stands.
enum class MirrorState {
  decided,  ///< matched, not written yet
  written,
  skipped,   ///< nobody matched and the settings say: no record
  gone,      ///< its record was deleted in the CRM
  rejected,  ///< the CRM refuses it; `error` says why
};
std::string_view to_word(MirrorState state);

/// Where the task of a gift in the CRM stands (Spec 6.5).
enum class TaskState {
  none,       ///< the gift was decided while tasks were off
  wanted,     ///< to be made with its record
  open,       ///< made
  completed,  ///< and completed
  gone,       ///< it was deleted in the CRM: not made again
};
std::string_view to_word(TaskState state);

/// To whom a gift was matched, decided once and reused by every retry.
struct MatchDecision {
  std::string contact_id;
  std::string account_id;
  std::string lead_id;
  std::string opportunity_id;
  std::string deal_stage;
  std::string sender_id;
  std::string reason;    ///< readable sentences
  std::string warnings;  ///< readable, one a line
};

struct GiftMirror {
  TransactionId transaction;
  MirrorState state = MirrorState::decided;
  UtcMillis decided_at;
  MatchDecision decision;
  std::int64_t written_version = 0;
  std::string error;
  bool needs_rematch = false;  ///< the CRM refused a lookup, or one leads nowhere any more
  TaskState task = TaskState::none;

  /// Whether giftsync knows that it wrote the gift's record. Where it does not, a record that the CRM has at
  /// this Transaction Id may be a stranger's (or the answer was lost), unless the gift was sent elsewhere.
  bool was_written() const { return written_version > 0; }
  /// Whether a stranger's record stands at this Transaction Id: writing ours was refused for that
  /// (refused_for_strangers_record), not for something else that the CRM did not like.
  bool is_kept_out() const;
};

/// Which mirrors an admin may want to be decided anew.
enum class RematchScope {
  unmatched,      ///< matched nobody, skipped ones included, or lost a lookup; not those whose record is gone
  needs_rematch,  ///< lost a lookup
  linked_to_lead,
};

/// A decision of an admin's command over the one that was read. Its sender is left as it is.
struct Redecision {
  GiftMirror mirror;
  UtcMillis read_decided_at;
  bool make_record = false;  ///< there is no record yet: the sync loop is to make it
};

/// A transaction's new state, as folded; saved only over the version it was folded from.
struct FoldedState {
  TransactionId transaction;
  std::int64_t from_version = 0;
  Status status = Status::sent;
  StatusTimes times;  ///< sent always has one
  bool contradictory = false;
  std::optional<UtcMillis> due_at = std::nullopt;  ///< when a timer is to look at it next
};

/// How one claim ends.
struct SyncClose {
  SyncClaim claim;
  bool done = true;  ///< false: again at retry_at
  UtcMillis retry_at;
  std::string error;
  std::optional<GiftMirror> mirror;  ///< state, written_version, error and task to keep
  bool lookups_cleared = false;      ///< the mirror's ids and needs_rematch too
};

class SyncQueue {
 public:
  explicit SyncQueue(std::shared_ptr<sql::Database> database);

  std::vector<SyncClaim> claim(const std::string& owner, std::int64_t lease_millis, std::size_t limit,
                               UtcMillis now);
  /// Saves those whose version is still the one they were folded from, as version + 1; returns the ids saved.
  std::vector<TransactionId> save(std::span<const FoldedState> folded);
  /// Keeps each decision unless there is one already; returns what now stands, by transaction.
  std::vector<GiftMirror> decide(std::span<const GiftMirror> decisions);
  std::vector<GiftMirror> mirrors(std::span<const TransactionId> transactions);
  /// Those in one state with a transaction above `after`, in its order.
  std::vector<GiftMirror> mirrors_in(MirrorState state, TransactionId after, std::size_t limit);
  std::vector<GiftMirror> mirrors_to_rematch(RematchScope scope, TransactionId after, std::size_t limit);
  /// Keeps those whose decision is still the one that was read, and, of those without a record, which no
  /// daemon is writing just now; returns their transactions.
  std::vector<TransactionId> redecide(std::span<const Redecision> decisions, UtcMillis now);
  /// Ends claims; a transaction that changed in the meantime stays in the queue.
  void close(const std::string& owner, std::span<const SyncClose> closes);
  /// Whatever rests (ChangeLog::accept) is due now; retries are not.
  void end_rest(UtcMillis now);
  /// Whatever rests or is to be tried again after `latest` is due now; returns how many those were.
  std::int64_t end_waits_beyond(UtcMillis latest, UtcMillis now);
  /// A whole batch failed: the gifts that `owner` has claimed are free again and keep `fault` as their last
  /// error. It counts as no try of theirs: nothing is wrong with them, and they go on as soon as the CRM
  /// does.
  void note_fault(const std::string& owner, const std::string& fault);
  /// Ends every lease of `owner`: a daemon that starts frees what it held when it died.
  void break_leases(const std::string& owner);
  /// Anybody's: none runs for longer than that from now on.
  void cut_leases(std::int64_t longest_millis);

  struct Counts {
    std::int64_t waiting = 0;
    std::int64_t failing = 0;  ///< waiting after at least one failure
    std::string last_error;
    std::optional<UtcMillis> oldest_due;
  };
  Counts counts();
  std::int64_t count_mirrors(MirrorState state);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema
