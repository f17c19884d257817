// schema/store: the log of status changes. Accepting a change is one durable row; what it means is decided
// later, by the sync room's fold. A repeat is the same (source, transaction, status, time): it is listed once
// (design 3.1). Nothing is ever taken out of the log: a change that should not count is voided and stays, and
// may be restored.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/ids.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/hand_out.h"
#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::schema {

/// Who took a change out of the fold, or put it back, when and why.
struct Review {
  UtcMillis at;
  std::string by;
  std::string reason;
};
enum class ReviewKind { voided, restored };
std::string_view to_word(ReviewKind kind);
struct ChangeReview : Review {
  ReviewKind kind = ReviewKind::voided;
};

struct StatusChange {
  ChangeId id;  ///< allotted by the log
  std::string source;
  TransactionId transaction;
  Status status = Status::delivered;
  UtcMillis occurred_at;
  UtcMillis received_at;
  std::vector<std::string> event_ids;
  Premise premise = Premise::none;               ///< of the timers' own changes
  bool held = false;                             ///< its transaction is not known yet; set by the log
  std::optional<Review> voiding = std::nullopt;  ///< set by the log, while it does not count
  std::string origin{};  ///< of the transactions it may apply to: empty for ours, else the source's name
  std::vector<ChangeReview> reviews{};  ///< set by the log in listings and histories; one after the other
};

/// All changes of a transaction that count, of one status and premise: when the first and the last occurred.
/// The fold needs no more of them, however many they are.
struct ChangeSpan {
  TransactionId transaction;
  Status status = Status::delivered;
  Premise premise = Premise::none;
  UtcMillis earliest;
  UtcMillis latest;
};

enum class AcceptOutcome {
  accepted,
  repeated,       ///< known already; nothing changed (a new event id is noted beside the old ones)
  held,           ///< its transaction is not known; applied when that appears
  too_many_held,  ///< the source holds kMaxHeldChanges already; not accepted
  other_origin,   ///< its transaction is another's (ours, or some other source's); not accepted
};
inline constexpr std::int64_t kMaxHeldChanges = 100'000;

/// Says whether a change may be, given everything that counts so far. Pure: it may be asked more than once.
using Decision = std::function<bool(UtcMillis sent_at, std::span<const ChangeSpan> so_far)>;

enum class DecidedOutcome {
  accepted,
  refused,              ///< by the decision
  unknown_transaction,  ///< nothing to decide about
  nothing_to_hand_out,  ///< it might be, but there is nothing left to hand out
};

enum class VoidOutcome { voided, was_voided, unknown };

/// What became of a change that was to count again.
struct RestoreOutcome {
  enum class Kind {
    restored,
    held,            ///< its transaction is not known; applied when that appears
    was_not_voided,  ///< nothing changed
    unknown,
    too_many_held,  ///< it would be held, but its source holds kMaxHeldChanges; it stays voided
    other_origin,   ///< its transaction is another's (ours, or some other source's); it stays voided
  };
  Kind kind = Kind::unknown;
  TransactionId transaction;  ///< that the change is about
  std::string source;         ///< that reported the change
  std::string gift_of{};      ///< with other_origin: whose the transaction is; empty for ours
};

/// Which changes to list; an empty one means all.
struct ChangeFilter {
  std::optional<TransactionId> transaction;
  std::optional<std::string> source;
  bool held_only = false;
};

/// By id, from one end or the other.
enum class ChangeOrder { oldest_first, newest_first };

class ChangeLog {
 public:
  explicit ChangeLog(const std::shared_ptr<sql::Database>& database);

  /// One outcome each, in one transaction: durable on return. Marks the transactions for the sync loop, to be
  /// synced after `rest_millis` at the latest: who brings many changes of each gift lets them rest until the
  /// last one is here (SyncQueue::end_rest), so that a gift is written once and not for each of them.
  std::vector<AcceptOutcome> accept(std::span<const StatusChange> changes, std::int64_t rest_millis = 0);

  /// The conditional accept of outcomes that giftsync decides itself (design 3.1): one transaction that locks
  /// the gift, shows `may` all that counts so far, and inserts the change together with what is handed out;
  /// else it inserts nothing. Of many at once exactly those are accepted that would be one after the other.
  DecidedOutcome accept_if(const StatusChange& change, const Decision& may, const HandOut& hand_out = {});
  /// For accept_if: accepts one more change, of the same gift, in the same transaction.
  HandOut beside(const StatusChange& change);

  /// What counts of those transactions, by transaction.
  std::vector<ChangeSpan> spans_of(std::span<const TransactionId> transactions);
  /// All changes of those transactions, also voided ones, by transaction and id, without event ids and
  /// reviews.
  std::vector<StatusChange> changes_of(std::span<const TransactionId> transactions);
  /// The changes of one transaction with their event ids and reviews, by the time they occurred; in whatever
  /// order they came, the history is the same.
  std::vector<StatusChange> history(TransactionId transaction);
  /// Changes with their event ids and reviews, a page at a time: those that come after `after` in that order,
  /// or without it the first ones.
  std::vector<StatusChange> list(const ChangeFilter& filter, ChangeOrder order, std::optional<ChangeId> after,
                                 std::size_t limit);

  /// Takes a change out of the fold: its source may report it again without effect. The first voiding stands
  /// until the change is restored. Marks the transaction for the sync loop.
  VoidOutcome void_change(ChangeId id, const Review& voiding);
  /// Lets a voided change count again, or be held again, as if it came now. It hands out nothing: what was
  /// handed out with it has stayed with the gift. Marks the transaction for the sync loop.
  RestoreOutcome restore_change(ChangeId id, const Review& restoring);

  /// Takes held changes whose transaction has appeared into the queue, of those received since then; returns
  /// how many. A transaction that appears takes what was held for it into its first fold anyway; what remains
  /// are changes that came at the same moment, so the loop needs to look at the latest ones only. Those of
  /// sources whose kept reports are still to be judged (SourceBook::begin_judging) stay held.
  std::int64_t release_held(UtcMillis now, UtcMillis received_since = {0});
  std::int64_t count_held();
  std::int64_t count_held(const std::string& source, UtcMillis received_before);
  /// Forgets changes of a source that are still held and were received before a time, and the reports kept
  /// beside them; returns how many changes. Reports of which all is voided go too.
  std::int64_t discard_held(const std::string& source, UtcMillis received_before);

 private:
  friend class DeliveryQueue;  // which accepts its changes in the transaction of their delivery
  friend class SourceBook;     // likewise, with the message or page that they came in
  std::vector<StatusChange> numbered(std::span<const StatusChange> changes);
  bool is_there(ChangeId id);

  std::shared_ptr<sql::Database> database_;
  IdBlock change_ids_;
};

}  // namespace giftsync::schema
