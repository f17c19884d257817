// crm/salesforce: writes to an org without giftsync's package (bare mode, ORG-9). Nothing in such an org
// keeps an older version from overwriting a newer one, so one writer at a time writes, among all daemons and
// commands of a store: the owner of a lease in the store. Under the lease it asks the store for the newest
// version of each gift, and it renews the lease before each call. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/org/write_mode.h"
#include "platform/clock.h"
#include "schema/gift_record.h"
#include "schema/ids.h"

namespace giftsync::salesforce {

/// The longest call, and how long the lease runs after each renewal: a call that began under it has ended
/// before another writer begins.
inline constexpr std::int64_t kLongestCallMillis = 120'000;
inline constexpr std::int64_t kWriterLeaseMillis = 2 * kLongestCallMillis;

struct LeaseHolder {
  bool is_this = false;
  std::string owner = {};
  std::int64_t remaining_millis = 0;
};
/// As schema/store/daemon_instances.h has them; each may throw giftsync::DependencyError.
struct WriterLeaseStorage {
  std::function<LeaseHolder(std::int64_t millis)> take;
  std::function<bool(std::int64_t millis)> renew;
  std::function<void()> release;
};

/// The newest version of each of the transactions that the store has.
using NewestVersions =
    std::function<std::vector<std::pair<TransactionId, std::int64_t>>(std::span<const TransactionId>)>;

struct BareOptions {
  WriterLeaseStorage lease = {};
  NewestVersions newest_versions = nullptr;
  std::int64_t longest_wait_millis = 5 * kSecondMillis;  ///< for another writer
};

class BareWrites : public WriteGate {
 public:
  BareWrites(BareOptions options, Clock clock) : options_(std::move(options)), clock_(std::move(clock)) {}

  /// Its owner is the only writer as long as it exists. Waits for another writer; then throws
  /// giftsync::DependencyPause, and nothing was written.
  class Turn {
   public:
    explicit Turn(BareWrites& writes);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    BareWrites& writes_;
  };

  /// By transaction. The caller has the turn.
  std::map<std::int64_t, std::int64_t> newest_versions(std::span<const TransactionId> ids) const;

  /// Renews the lease of the turn. Throws giftsync::DependencyPause when another writer took it meanwhile.
  void before_write() override;
  /// The org may go on with such a call after the turn: the lease is then not released but ends by itself.
  void note_lost_answer() override;

 private:
  void begin_turn();
  void end_turn();
  void check_lost_answer() const;
  void take_lease();
  void release_lease();
  [[noreturn]] void pause(const std::string& writer, std::int64_t remaining_millis) const;

  const BareOptions options_;
  const Clock clock_;
  std::mutex mutex_;
  std::condition_variable turn_ended_;
  bool has_turn_ = false;                       // guarded by mutex_: one turn at a time in this process
  std::optional<std::int64_t> lost_answer_at_;  ///< by the clock of the uptime; of the owner of the turn
};

// Whether a record of an org that keeps no versions is giftsync's own. Pure; any thread.

/// A record with the gift's Transaction Id is giftsync's own when it has the gift's Recipient Email, perhaps
/// cut, or its Sent At to the second; a record of another one has neither. A gift without both, which
/// giftsync does not make, is compared with a record without both.
bool is_own_record(const GiftRecord& record, const GiftRecord& gift);

// What a write of gift records and tasks asks before it begins.

/// Rows that are written one by one, 25 a call, in one turn of bare mode: a backfill that had the turn for
/// minutes would keep live gifts from being written.
inline constexpr std::size_t kSinglesPerBareTurn = 100;

/// Without `modes` the org is guarded and nothing is asked. `bare` needs `modes`.
struct WriteControl {
  ModeWatch* modes = nullptr;
  BareWrites* bare = nullptr;
};

/// One write of several rows. Throws giftsync::DependencyPause where none may be written now. In bare mode
/// its owner is the only writer as long as it exists.
class WriteContext {
 public:
  explicit WriteContext(const WriteControl& control)
      : modes_(control.modes),
        mode_(control.modes != nullptr ? control.modes->require() : WriteMode{.mode = OrgMode::guarded}),
        bare_(control.bare) {
    if (bare_ != nullptr) turn_.emplace(*bare_);
  }

  /// After the org refused a field: whether to try again without fields that it does not show.
  bool hides_more_fields() const { return modes_ != nullptr && modes_->hides_more_fields(); }

  const WriteMode& mode() const { return mode_; }
  /// Null in guarded mode.
  BareWrites* bare() const { return bare_; }

 private:
  ModeWatch* const modes_;
  const WriteMode mode_;
  BareWrites* const bare_;
  std::optional<BareWrites::Turn> turn_;
};

}  // namespace giftsync::salesforce
