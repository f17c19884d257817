// sync: the mails that this daemon has claimed and not begun, shared by its connections. So a slow connection
// holds up the mail that it sends, and no other (MAIL-30). Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/store.h"

namespace giftsync::sync {

struct ClaimedMail {
  schema::store::DeliveryClaim claim;
  /// Of the mail of an approver or a sender only the recipient's address and the time of its order are set.
  schema::store::Gift gift;
  bool is_obsolete = false;  ///< pointless: the gift was opened or has ended
  platform::UtcMillis claimed_at;
  std::vector<schema::store::ApproverNotice> notices = {};  ///< of the mail of an approver
  schema::store::SenderMail of_sender = {};                 ///< of the mail of a sender
};

/// A claim this old is left alone: its lease ends before the mail could be begun.
inline constexpr std::int64_t kMaxClaimAgeMillis = 25'000;

/// How many mails to claim next, so that they last about a second: other requests wait no longer for their
/// turn. `lasted_millis`: how long the last ones lasted.
std::size_t next_claim_size(std::size_t last, std::int64_t lasted_millis, std::size_t minimum);

class ClaimedMails {
 public:
  /// `minimum`: of a claim.
  ClaimedMails(schema::store::Store& store, std::size_t connections, std::size_t minimum,
               std::function<platform::UtcMillis()> now);

  struct Wanted {
    std::size_t connection = 0;
    std::size_t count = 1;
    bool may_claim = true;                   ///< false: only of those claimed already
    std::size_t max_claim = SIZE_MAX;        ///< of mails claimed at once
    std::vector<std::string> suspects = {};  ///< recipients: other ones go first (MAIL-27)
    /// Those that were tried least often, so that no mail that always fails decides again and again (MAIL-4).
    bool is_test = false;
  };
  /// At most `count` mails, in due order. None when there is no work for this connection: one with a lower
  /// number that waits takes the mail. Throws platform::DependencyError.
  std::vector<ClaimedMail> take(const std::string& owner, const Wanted& wanted);
  /// False when connections with lower numbers wait for all that is here.
  bool has_work_for(std::size_t connection) const;
  /// The connection waits for nothing until its next take().
  void set_resting(std::size_t connection);
  /// True when mails wait here and a connection has nothing to do.
  bool needs_more_connections() const;
  bool is_empty() const;
  /// Releases the claims.
  void release_all(const std::string& owner);

 private:
  void drop_expired();
  void claim(const std::string& owner, std::size_t max_claim, std::unique_lock<std::mutex>& lock);
  std::vector<ClaimedMail> pop(const Wanted& wanted);
  std::size_t idle_before(std::size_t connection) const;

  schema::store::Store& store_;
  const std::size_t minimum_;
  const std::function<platform::UtcMillis()> now_;
  mutable std::mutex mutex_;
  std::condition_variable claimed_;
  std::deque<ClaimedMail> mails_;         // guarded by mutex_
  std::vector<bool> is_idle_;             // guarded by mutex_; by connection
  bool is_claiming_ = false;              // guarded by mutex_
  bool was_full_ = false;                 // guarded by mutex_; the last claim
  std::size_t claim_size_;                // guarded by mutex_
  platform::UtcMillis last_claim_at_{0};  // guarded by mutex_
};

}  // namespace giftsync::sync
