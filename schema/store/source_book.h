// schema/store: what the sources of changes said (settings: sources). A message or page is one transaction:
// its changes, the gifts it told of, what had to be kept aside, the message's id or the position that covers
// it. So a daemon that dies anywhere neither loses a report nor applies it twice (design 3.1).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/store/change_log.h"

namespace giftsync::schema {

/// Why a report is not applied.
enum class AsideReason {
  word,          ///< the status map has no such word
  time,          ///< before 2000 or more than 24 h ahead of its receipt
  may_set,       ///< the source may not set this status
  faulty,        ///< what the fields say cannot be read
  other_origin,  ///< its transaction is another's: ours, or some other source's
  no_gift,       ///< its change is held; the report is kept beside it, should it make the gift one day
};
std::string_view to_word(AsideReason reason);
std::optional<AsideReason> aside_reason_from_word(std::string_view word);

/// At most so many reports of one source are kept aside. Those beside held changes take the room that is
/// left, and none from the others.
inline constexpr std::int64_t kMaxAside = 100'000;

/// A report as it is kept aside.
struct AsideReport {
  std::int64_t id = 0;  ///< allotted by the book
  std::string source;
  AsideReason reason = AsideReason::word;
  std::string word;         ///< the source's own word for the status, as it came
  std::string detail;       ///< what is wrong, as a sentence
  std::string transaction;  ///< as it came
  std::string digest;       ///< equal for equal reports: they are kept once
  std::string report;       ///< the caller's own text, from which it can read the report again
  UtcMillis received_at;
};

/// A gift that was sent elsewhere (Spec 6.3.1), under its own id.
struct ExternalGift {
  TransactionId id;
  GiftId gift;  ///< 0: not known
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

/// One thing that a source said.
struct SourceItem {
  std::optional<StatusChange> change;  ///< not numbered; its source and origin are the report's
  std::optional<StatusChange> sent;    ///< beside a change: that the gift was sent, and when
  std::optional<ExternalGift> gift;    ///< enough to create the gift, when it does not exist yet
  bool kept_aside = false;             ///< neither is applied
  AsideReport aside;                   ///< how it is kept when it is, or when it turns out to be another's
  /// What was read, and why no gift can be created from it: how its report is kept while its change is held.
  /// Empty: only the change is.
  std::string held_detail = {};
};

struct SourceClaim {
  std::string position;  ///< empty: from the beginning
  std::int64_t revision = 0;
  std::int64_t failures = 0;  ///< in a row
};

/// One message or page, whole.
struct SourceReport {
  std::string source;
  std::string origin;  ///< empty, or the source's name when its transactions are its own (design 3.1)
  std::vector<SourceItem> items;
  std::size_t ignored = 0;                ///< words mapped to `ignore`
  std::optional<std::string> message_id;  ///< of a webhook
  struct Advance {
    std::string owner;
    std::int64_t revision = 0;  ///< that the position is read from; it grows by one
    std::string position;
  };
  std::optional<Advance> advance;  ///< of a poll
  /// Ids of kept reports that these items take the place of: what is held because they were read otherwise
  /// before is taken back.
  std::vector<std::int64_t> settled;
  UtcMillis now;
};

struct SourceReceipt {
  enum class Kind {
    taken,     ///< durable
    replayed,  ///< the message id is known; nothing changed
    full,      ///< too much is held or kept aside already; nothing changed
    overtaken  ///< somebody else has the poll now; nothing changed
  };
  Kind kind = Kind::taken;
  std::size_t accepted = 0;
  std::size_t repeated = 0;
  std::size_t held = 0;
  std::size_t gifts = 0;  ///< created
  std::size_t kept_aside = 0;
  std::vector<std::string> collisions;  ///< sentences: transactions that are another's
};

/// How a source stands.
struct SourceStanding {
  std::string name;
  std::string state;  ///< the daemon's word: "new", "works", ...
  UtcMillis state_since;
  std::string reason;
  std::string position;
  UtcMillis due_at;
  std::int64_t failures = 0;
  std::optional<UtcMillis> last_heard_at;
  std::int64_t accepted = 0;
  std::int64_t repeated = 0;
  std::int64_t ignored = 0;
  std::int64_t gifts = 0;
  std::int64_t refused = 0;
  std::int64_t held = 0;
  std::int64_t kept_aside = 0;  ///< without those beside held changes
};

/// How long a poll waits, and why.
struct SourceWait {
  std::string name;
  UtcMillis due_at;
  std::int64_t failures = 0;  ///< in a row
  std::string position;
};

class SourceBook {
 public:
  SourceBook(std::shared_ptr<sql::Database> database, ChangeLog& changes);

  /// Makes the row of a source that is new. What is held of it takes on its origin of now: the setting may
  /// have been corrected.
  void open(const std::string& source, const std::string& origin, UtcMillis now);
  /// The reports beside held changes of the source are to be judged again under settings of which `reading`
  /// is the mark. Until that has ended under the same mark, nothing that is held of it is released, and none
  /// of those reports forgotten. An empty mark: there is nothing to judge.
  void begin_judging(const std::string& source, const std::string& reading);
  void end_judging(const std::string& source, const std::string& reading);
  /// The sources of which that has not ended.
  std::set<std::string> unjudged();
  SourceReceipt accept(const SourceReport& report);

  /// The poll of a source that is due, for `lease_millis` of the database's clock; empty when it is not due
  /// or somebody else has it.
  std::optional<SourceClaim> claim(const std::string& source, const std::string& owner,
                                   std::int64_t lease_millis, UtcMillis now);
  struct Rest {
    UtcMillis due_at;
    std::int64_t failures = 0;
    std::optional<std::string> position;  ///< a new one, where there were no items to go with it
  };
  /// Ends the claim.
  void rest(const std::string& source, const std::string& owner, const Rest& rest);
  std::vector<SourceWait> waits();
  /// The poll that was found waiting so is due now, unless it has gone on since; returns whether it is.
  bool end_wait(const SourceWait& seen, UtcMillis now);
  /// Forgets how far the poll has come, on an admin's word: it is due at once, from the beginning. A page
  /// that a daemon has in hand meanwhile is overtaken. False: there is no such source.
  bool rewind(const std::string& source);
  void break_leases(const std::string& owner);
  /// Anybody's: none runs for longer than that from now on.
  void cut_leases(std::int64_t longest_millis);
  /// Only the one of this source.
  void break_lease(const std::string& source, const std::string& owner);

  /// What a restart and the command line are to know. Writes only what differs from what is there.
  void note_state(const std::string& source, const std::string& state, const std::string& reason,
                  UtcMillis now);
  /// Messages that were not let in (bad signature, no JSON), counted in memory and added now and then.
  void add_refused(const std::string& source, std::int64_t count);

  std::vector<SourceStanding> standings();
  /// By id; of one source, or of all when `source` is empty. Without those beside held changes.
  std::vector<AsideReport> aside(const std::string& source, std::int64_t after, std::size_t limit);
  /// The same of reports whose changes are held. They go with the changes, applied or discarded,
  /// or when they are judged again; those of voided changes stay.
  std::vector<AsideReport> held_reports(const std::string& source, std::int64_t after, std::size_t limit);
  /// Names of sources that have told of no gift and of whose changes every one is held, the first one since
  /// before that time.
  std::set<std::string> only_held(UtcMillis before);
  struct AsideCount {
    std::string source;
    AsideReason reason;
    std::string word;
    std::int64_t count = 0;
  };
  /// The words kept aside, most frequent first, at most `limit`.
  std::vector<AsideCount> aside_words(std::size_t limit);
  /// For good, on an admin's word; how many there were. Those beside held changes stay.
  std::int64_t discard_aside(const std::string& source, std::optional<AsideReason> reason);
  /// Forgets the ids of messages older than `before`.
  void prune_messages(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
  ChangeLog& changes_;
  IdBlock request_ids_;
  IdBlock aside_ids_;
};

}  // namespace giftsync::schema
