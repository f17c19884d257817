// sync: the mails that this daemon has claimed and not begun, shared by its connections. So a slow connection
// holds up the mail that it sends, and no other (MAIL-30). Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/mail/delivery_queue.h"
#include "schema/store/store.h"

namespace giftsync::sync {

struct ClaimedMail {
  store::DeliveryClaim claim;
  /// The mail of a user or a sender has only the recipient's address and the time of its order.
  store::Gift gift;
  bool is_obsolete = false;  ///< pointless: the gift was opened or has ended
  UtcMillis claimed_at;
  store::ApproverMail of_approver = {};  ///< of the mail of an approver or admin
  store::SenderMail of_sender = {};      ///< of the mail of a sender
  store::SignInMail of_sign_in = {};     ///< of the mail with a sign-in link
};

/// A claim this old is left alone: its lease ends before the mail could be begun.
inline constexpr std::int64_t kMaxClaimAgeMillis = 25'000;

/// How many mails to claim next, so that they last about a second: other requests wait no longer for their
/// turn. `lasted_millis`: how long the last ones lasted.
std::size_t next_claim_size(std::size_t last, std::int64_t lasted_millis, std::size_t minimum);

class ClaimedMails {
 public:
  /// `minimum`: of a claim.
  ClaimedMails(store::Store& store, std::size_t connections, std::size_t minimum,
               std::function<UtcMillis()> now);

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
  /// number that waits takes the mail. Throws DependencyError.
  std::vector<ClaimedMail> take(const std::string& owner, const Wanted& wanted);
  /// False when connections with lower numbers wait for all that is here.
  bool has_work_for(std::size_t connection) const;
  /// The connection waits for nothing until its next take().
  void set_paused(std::size_t connection);
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

  store::Store& store_;
  const std::size_t minimum_;
  const std::function<UtcMillis()> now_;
  mutable std::mutex mutex_;
  std::condition_variable claimed_;
  std::deque<ClaimedMail> mails_;  // guarded by mutex_
  std::vector<bool> is_idle_;      // guarded by mutex_; by connection
  bool is_claiming_ = false;       // guarded by mutex_
  bool was_full_ = false;          // guarded by mutex_; the last claim
  std::size_t claim_size_;         // guarded by mutex_
  UtcMillis last_claim_at_{0};     // guarded by mutex_
};

// Writes the outcomes of mails and the beginnings of the next ones, of all connections, in group
// commits: one transaction serves all mails that wait for it. Each mail is still sent only after its
// `sending` is durable (MAIL-5, MAIL-31). Any thread.

/// The lease while a mail is being sent; no other lease of a mail is longer.
inline constexpr std::int64_t kSendingLeaseMillis = 90'000;

class AttemptWriter {
 public:
  using Sending = store::DeliveryQueue::Sending;
  struct Attempts {
    std::vector<store::DeliveryOutcome> ended;
    std::vector<Sending> started;
  };

  /// `now` is called by any thread.
  AttemptWriter(store::DeliveryQueue& queue, std::function<UtcMillis()> now);

  /// Durable on return. One flag for each of `started`: false, it must not be sent (see
  /// DeliveryQueue::begin_sending). Throws DependencyError; a fault of another connection's
  /// attempts fails only those.
  std::vector<bool> write(const std::string& owner, const Attempts& attempts);

  /// Between join() and leave() a connection has a mail: a group waits for it, for a moment.
  void join();
  void leave();

 private:
  struct Waiting {
    const std::string& owner;
    const Attempts& attempts;
    std::vector<bool> has_started{};
    std::exception_ptr fault{};
    bool is_done = false;
  };
  void lead(std::unique_lock<std::mutex>& lock);
  void commit(const std::vector<Waiting*>& group);
  void commit_together(const std::vector<Waiting*>& group);

  store::DeliveryQueue& queue_;
  const std::function<UtcMillis()> now_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting*> waiting_;             // guarded by mutex_
  bool has_leader_ = false;                   // guarded by mutex_
  std::size_t joined_ = 0;                    // guarded by mutex_
  std::chrono::microseconds last_commit_{0};  // used by the leader only
};

}  // namespace giftsync::sync
