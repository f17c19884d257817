// schema/store: ingest of events from the sources of changes (settings: sources). A message or page is one
// transaction: its changes, its gifts, its events that are not applied, and the message's id or the poll's
// new cursor. So a crash neither loses an event nor applies it twice (SRC-1).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schema/store/event/refused_messages.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/do_not_send.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::store {

/// What became of an event that is stored because it is not applied.
enum class EventState {
  quarantined,  ///< it cannot be applied
  orphaned,     ///< its change is orphaned; it may create the gift later
  ignored,      ///< by the settings, or because it is not about a gift
};
std::string_view to_word(EventState state);
std::optional<EventState> event_state_from_word(std::string_view word);

/// Why an event is quarantined.
enum class QuarantineReason {
  unknown_status,    ///< the status map has no such status word
  implausible_time,  ///< before 2000 or more than 24 h ahead of its receipt
  may_set,           ///< the source may not set this status
  malformed,         ///< a field cannot be parsed
  other_source,      ///< its transaction belongs to another source or to giftsync
};
std::string_view to_word(QuarantineReason reason);
std::optional<QuarantineReason> quarantine_reason_from_word(std::string_view word);

/// The maximum of quarantined events per source. Orphaned events use only the remaining capacity.
inline constexpr std::int64_t kMaxQuarantined = 100'000;
/// The maximum of ignored events per source: the newest ones. They use no capacity of the others.
inline constexpr std::int64_t kMaxIgnored = 1'000;

/// An event that is not applied. It is stored once, in one state, until it is applied or purged.
struct UnappliedEvent {
  std::int64_t id = 0;  ///< allocated by the store
  std::string source;
  EventState state = EventState::quarantined;
  std::optional<QuarantineReason> reason = {};  ///< of a quarantined event
  std::string status_word;                      ///< the source's status word, unmodified
  std::string detail;                           ///< why it is not applied, as a sentence
  std::string transaction;                      ///< unmodified
  std::string digest;                           ///< equal for equal events: each is stored once
  std::string payload;  ///< the caller's own text, from which it can process the event again
  UtcMillis received_at;
};

/// A gift that was sent elsewhere.
struct ExternalGift {
  TransactionId id;
  std::string external_id;  ///< when `id` was allotted for it (SRC-58)
  GiftId gift;              ///< 0: unknown
  std::string item_name;
  std::string item_description;
  GiftCosts costs;
  std::string sender_email;
  std::string email;
  std::string phone;
  std::string first_name;
  std::string last_name;
  std::string message;
  UtcMillis sent_at;
};

/// One event of a source.
struct InboundItem {
  std::optional<StatusChange> change;  ///< without ids; its source and gift_source are those of the batch
  std::optional<StatusChange> sent;    ///< besides a change: that the gift was sent, and when
  std::optional<ExternalGift> gift;    ///< enough to create the gift when it does not exist yet
  bool quarantined = false;            ///< neither is applied
  UnappliedEvent
      event;  ///< stored when the item is quarantined, or when its transaction belongs to another source
  /// The extracted event and why no gift can be created from it: stored as its payload while its change
  /// is orphaned. Empty: only the change is stored.
  std::string orphan_detail = {};
};

struct SourceClaim {
  std::string cursor_state;  ///< empty: from the beginning
  std::int64_t revision = 0;
  std::int64_t failures = 0;  ///< consecutive
};

/// One complete message or page.
struct InboundBatch {
  std::string source;
  std::string gift_source;  ///< empty, or the source's name when its transactions are its own
  std::vector<InboundItem> items;
  std::vector<UnappliedEvent> ignored;    ///< stored as such
  std::optional<std::string> message_id;  ///< of a webhook
  struct Advance {
    std::string owner;
    std::int64_t revision = 0;  ///< of the cursor_state that was read; it grows by one
    std::string cursor_state;
  };
  std::optional<Advance> advance;  ///< of a poll
  /// Ids of stored events that these items replace: orphaned changes from their earlier result are
  /// deleted.
  std::vector<std::int64_t> reprocessed_ids;
  UtcMillis now;
  std::vector<DoNotSendEntry> do_not_send = {};  ///< stored with the events
};

struct IngestResult {
  enum class Kind {
    stored,      ///< durable
    replayed,    ///< the message id is known; nothing changed
    over_limit,  ///< the source has too many orphaned changes or quarantined events; nothing changed
    superseded   ///< another process has claimed the poll; nothing changed
  };
  Kind kind = Kind::stored;
  std::size_t accepted = 0;
  std::size_t duplicates = 0;
  std::size_t orphaned = 0;
  std::size_t gifts = 0;  ///< created
  std::size_t quarantined = 0;
  std::vector<std::string> id_conflicts;  ///< sentences: transactions that belong to another source
};

/// The health of a source.
struct SourceSummary {
  std::string name;
  std::string state;  ///< the daemon's own text: "new", "ok", ...
  UtcMillis state_since;
  std::string reason;
  std::string cursor_state;
  UtcMillis next_attempt_at;
  std::int64_t failures = 0;
  std::optional<UtcMillis> last_received_at;
  std::int64_t accepted = 0;
  std::int64_t duplicates = 0;
  std::int64_t ignored = 0;
  std::int64_t gifts = 0;
  std::int64_t rejected = 0;
  std::int64_t refused_in_row = 0;  ///< with a verified sender, since a message was accepted
  std::optional<UtcMillis> last_refused_at;
  std::string last_refusal;  ///< the reason of the last refused message
  std::int64_t orphaned = 0;
  std::int64_t quarantined = 0;
};

/// What monitors ask of a source; read from its row alone.
struct SourceHealth {
  std::string name;
  std::string state;
  std::optional<UtcMillis> last_received_at;
  std::int64_t refused_in_row = 0;
};

/// What accept() would do with an item.
struct PreviewItem {
  AcceptOutcome outcome = AcceptOutcome::accepted;  ///< of a change; without meaning for other items
  bool gift_exists = false;                         ///< already
  bool creates_gift = false;                        ///< the item itself
  bool gift_known = false;                          ///< it exists, or an item of the batch creates it
  std::string conflict = {};  ///< why it would be quarantined although the item itself is applicable
};

/// What a daemon has observed of a source since it last saved it.
struct SourceHealthUpdate {
  std::string source = {};
  struct State {
    std::string word;
    std::string reason;
    UtcMillis at;
  };
  std::optional<State> state = {};
  std::int64_t refused = 0;         ///< further refused messages
  std::int64_t refused_in_row = 0;  ///< those of them with a verified sender since a message was accepted
  struct Refusal {
    std::string reason;
    UtcMillis at;
  };
  std::optional<Refusal> last_refusal = {};
  std::vector<RefusedMessage> messages = {};  ///< to be kept
};

/// The schedule of a poll.
struct SourceSchedule {
  std::string name;
  UtcMillis next_attempt_at;
  std::int64_t failures = 0;  ///< consecutive
  std::string cursor_state;
};

struct PreparedBatch;

class Sources {
 public:
  Sources(std::shared_ptr<sql::Database> database, ChangeLog& changes);

  /// Creates the row of a new source. Its orphaned changes get the current gift_source, because the
  /// setting may have been corrected.
  void open(const std::string& source, const std::string& gift_source, UtcMillis now);
  /// Starts reprocessing the source's orphaned payloads under the settings with this fingerprint. Until
  /// it has ended under the same fingerprint, none of the source's orphaned changes is applied and none
  /// of those payloads is deleted. An empty fingerprint: nothing to reprocess.
  void begin_reprocessing(const std::string& source, const std::string& fingerprint);
  void end_reprocessing(const std::string& source, const std::string& fingerprint);
  /// The sources whose reprocessing has not ended.
  std::set<std::string> sources_to_reprocess();
  /// A daemon processes the source's quarantined and orphaned events again, under its present settings.
  void request_reprocessing(const std::string& source, const AuditEvent& audit);
  IngestResult accept(const InboundBatch& batch);
  /// What accept() would do with each item of the batch, as the store is now. Changes nothing.
  std::vector<PreviewItem> preview(const InboundBatch& batch);

  /// Claims a due poll for `lease_millis` of the database's clock; empty when it is not due or another
  /// process has claimed it.
  std::optional<SourceClaim> claim(const std::string& source, const std::string& owner,
                                   std::int64_t lease_millis, UtcMillis now);
  struct NextPoll {
    UtcMillis next_attempt_at;
    std::int64_t failures = 0;
    std::optional<std::string> cursor_state;  ///< a new cursor when there were no items
  };
  /// Releases the claim.
  void release_claim(const std::string& source, const std::string& owner, const NextPoll& next);
  std::vector<SourceSchedule> list_schedules();
  /// Makes the poll that was waiting due now, unless it advanced meanwhile; returns whether it is due.
  bool reset_schedule(const SourceSchedule& seen, UtcMillis now);
  /// Resets the poll's cursor for an admin: it is due at once, from the beginning. A page that a daemon
  /// is processing is superseded. False: there is no such source.
  bool reset_cursor(const std::string& source);
  void release_leases(const std::vector<std::string>& owners);
  /// Shortens every lease that runs longer than that, of any owner.
  void cap_leases(std::int64_t max_millis);
  /// Only the lease of this source.
  void release_lease(const std::string& source, const std::string& owner);

  /// Saves health for restarts and the command line, in one transaction; none when nothing has changed.
  void save_health(std::span<const SourceHealthUpdate> updates);

  std::vector<SourceSummary> list();
  /// By name.
  std::vector<SourceHealth> list_health();
  /// By id; of one source, or of all when `source` is empty.
  std::vector<UnappliedEvent> list_quarantined(const std::string& source, std::int64_t after,
                                               std::size_t limit);
  /// The same for the events of orphaned changes. They are deleted with their changes, when these are applied
  /// or purged, or when they are reprocessed; those of voided changes stay.
  std::vector<UnappliedEvent> orphaned_payloads(const std::string& source, std::int64_t after,
                                                std::size_t limit);
  /// The same for ignored events.
  std::vector<UnappliedEvent> list_ignored(const std::string& source, std::int64_t after, std::size_t limit);
  /// Names of sources that have reported no gift and whose changes are all orphaned, the first one
  /// since before that time. Old applied changes may be overlooked (orphaned_sources.h).
  std::set<std::string> all_orphaned(UtcMillis before);
  struct QuarantineCount {
    std::string source;
    QuarantineReason reason;
    std::string status_word;
    std::int64_t count = 0;
  };
  /// By reason and status word, most frequent first; of one source, or of all when `source` is empty.
  std::vector<QuarantineCount> count_quarantined(const std::string& source);
  std::int64_t count_ignored(const std::string& source);
  /// Deletes quarantined events for an admin; returns how many. Events in other states stay. `audit` gets the
  /// count as its detail and is inserted.
  std::int64_t purge_quarantined(const std::string& source, std::optional<QuarantineReason> reason,
                                 const std::optional<AuditEvent>& audit = {});
  /// The same for ignored events.
  std::int64_t purge_ignored(const std::string& source);
  /// Deletes the ids of messages older than `before`.
  void prune_messages(UtcMillis before);

 private:
  friend class UrgentWrites;  // stores messages in the transaction of a group
  PreparedBatch prepare(const InboundBatch& batch);

  std::shared_ptr<sql::Database> database_;
  ChangeLog& changes_;
  IdBlock request_ids_;
  IdBlock event_ids_;
};

// Finds the sources whose changes are all orphaned, as SQL. Its work has a bound however large
// the change log is: it counts by an index of the orphaned changes alone, which are bounded for each source,
// and looks for an applied change of the source among the newest changes of the log only (OPS-33). Included
// by this folder's .cpp files and their tests only.

/// Among these an applied change of the source shows that not all are orphaned.
inline constexpr int kNewestChanges = 10'000;

/// With `before`, when the source's first orphaned change was received at the latest: a parameter or a
/// number.
inline std::string all_orphaned_query(const std::string& before) {
  // An event has one or two changes: with fewer changes than events at least one was applied, which usually
  // decides.
  return "SELECT s.name FROM source s WHERE s.gifts = 0 AND s.accepted > 0 AND EXISTS (SELECT 1 FROM "
         "change_log c WHERE c.source = s.name AND c.orphaned = 1 AND c.received_at < " +
         before +
         ") AND s.accepted <= (SELECT count(*) FROM change_log c WHERE c.source = s.name AND c.orphaned = 1) "
         "AND NOT EXISTS (SELECT 1 FROM (SELECT source, orphaned FROM change_log ORDER BY id DESC LIMIT " +
         std::to_string(kNewestChanges) + ") newest WHERE newest.source = s.name AND newest.orphaned = 0)";
}

}  // namespace giftsync::store
