#include "sync/mail/claimed_mails.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "platform/dependency_error.h"
#include "sync/gift/lifecycle.h"
#include "sync/mail/relay_health.h"

namespace giftsync::sync {
namespace {

using store::DeliveryClaim;

constexpr std::int64_t kClaimLeaseMillis = 30'000;
static_assert(kClaimLeaseMillis <= kSendingLeaseMillis);
static_assert(kMaxClaimAgeMillis < kClaimLeaseMillis);
constexpr std::size_t kMaxClaimSize = 400;
constexpr std::int64_t kShortMillis = 500;
constexpr std::int64_t kLongMillis = 1'500;

/// A mail whose preparation failed has a turn no more, and no attempt.
bool is_tried_less(const ClaimedMail& a, const ClaimedMail& b) {
  return std::pair(a.claim.attempt, a.claim.turn == 0) < std::pair(b.claim.attempt, b.claim.turn == 0);
}

bool is_obsolete(const DeliveryClaim& claim, const store::Gift& gift,
                 const std::vector<store::ChangeSpan>& spans) {
  const FoldedStatus state = fold(*gift.transaction.times[Status::sent], spans);
  return is_ended(state) || (claim.kind == MailKind::reminder && state.times[Status::opened]);
}

/// Once it has a Message-ID it may have been sent, and stays as it is.
ClaimedMail with_notices(store::Store& store, const std::string& owner, const DeliveryClaim& claim,
                         UtcMillis claimed_at) {
  const std::string taker = claim.message_id.empty() ? owner : std::string();
  ClaimedMail made{claim, {}, false, claimed_at};
  made.gift.transaction.id = claim.transaction;
  made.gift.request.created_at = claim.ordered_at;
  const auto set_recipient = [&](const auto& mail) {
    made.is_obsolete = mail.is_obsolete;
    made.gift.transaction.email = mail.email;
  };
  if (claim.kind == MailKind::sender) {
    made.of_sender = store.sender_notices.take(claim.transaction, claim.number, taker);
    set_recipient(made.of_sender);
    // It may have arrived: a pause follows it.
    if (claim.state == DeliveryState::uncertain) made.is_obsolete = false;
  } else if (claim.kind == MailKind::sign_in) {
    made.of_sign_in = store.sign_in_mails.take(claim.transaction, claim.number, taker, claimed_at);
    set_recipient(made.of_sign_in);
  } else {
    made.of_approver = store.approver_notices.take({-claim.transaction.value}, claim.number, taker);
    set_recipient(made.of_approver);
  }
  return made;
}

/// A test gift's mail goes to its sender: nothing behind this knows the recipient's address (TEST-2).
ClaimedMail with_test_gift(const DeliveryClaim& claim, store::Gift gift,
                           const std::vector<store::ChangeSpan>& spans, UtcMillis claimed_at) {
  const bool is_refunded = fold(*gift.transaction.times[Status::sent], spans).status == Status::refunded;
  gift.transaction.email = gift.request.sender_email;
  return {claim, std::move(gift), is_refunded, claimed_at};  // its links have ended
}

std::vector<ClaimedMail> with_gifts(store::Store& store, const std::string& owner,
                                    const std::vector<DeliveryClaim>& claims, UtcMillis claimed_at) {
  std::vector<TransactionId> ids;
  const auto gift_of = [](const DeliveryClaim& claim) {
    return claim.kind == MailKind::test ? store::test_gift_of(claim.transaction) : claim.transaction;
  };
  for (const DeliveryClaim& claim : claims) ids.push_back(gift_of(claim));
  std::unordered_map<TransactionId, store::Gift> gifts;
  for (store::Gift& gift : store.gifts.find(ids)) {
    const TransactionId id = gift.transaction.id;
    gifts.emplace(id, std::move(gift));
  }
  std::unordered_map<TransactionId, std::vector<store::ChangeSpan>> spans;
  for (const store::ChangeSpan& span : store.changes.spans_of(ids)) spans[span.transaction].push_back(span);
  std::vector<ClaimedMail> mails;
  for (const DeliveryClaim& claim : claims) {
    if (claim.kind == MailKind::test) {
      // Absent: it was deleted meanwhile, and the claim's row with it.
      if (const auto gift = gifts.find(gift_of(claim)); gift != gifts.end())
        mails.push_back(with_test_gift(claim, std::move(gift->second), spans[gift_of(claim)], claimed_at));
      continue;
    }
    if (!is_of_gift(claim.kind)) {
      mails.push_back(with_notices(store, owner, claim, claimed_at));
      continue;
    }
    store::Gift& gift = gifts.at(claim.transaction);
    const bool obsolete = is_obsolete(claim, gift, spans[claim.transaction]);
    mails.push_back({claim, std::move(gift), obsolete, claimed_at});
  }
  return mails;
}

}  // namespace

std::size_t next_claim_size(std::size_t last, std::int64_t lasted_millis, std::size_t minimum) {
  std::size_t next = last;
  if (lasted_millis < kShortMillis) next = last * 2;
  if (lasted_millis > kLongMillis) next = last / 2;
  return std::clamp(next, minimum, std::max(minimum, kMaxClaimSize));
}

ClaimedMails::ClaimedMails(store::Store& store, std::size_t connections, std::size_t minimum,
                           std::function<UtcMillis()> now)
    : store_(store),
      minimum_(minimum),
      now_(std::move(now)),
      is_idle_(connections, true),
      claim_size_(minimum) {}

std::vector<ClaimedMail> ClaimedMails::take(const std::string& owner, const Wanted& wanted) {
  std::unique_lock lock(mutex_);
  is_idle_[wanted.connection] = true;  // unless it gets a mail
  while (true) {
    drop_expired();
    const std::size_t idle = idle_before(wanted.connection);
    if (idle > 0 && mails_.size() <= idle) return {};
    const bool is_low = mails_.empty() || (was_full_ && mails_.size() * 4 < claim_size_);
    if (is_low && wanted.may_claim && !is_claiming_) {
      claim(owner, wanted.max_claim, lock);
      if (mails_.empty()) return {};
    }
    if (!mails_.empty()) return pop(wanted);
    if (!is_claiming_) return {};
    // Another connection claims for all.
    claimed_.wait_for(lock, std::chrono::seconds(1), [this] { return !is_claiming_; });
    if (is_claiming_) return {};
  }
}

/// Without the lock, so that the other connections go on with the mails that are left.
void ClaimedMails::claim(const std::string& owner, std::size_t max_claim,
                         std::unique_lock<std::mutex>& lock) {
  const UtcMillis now = now_();
  if (was_full_) claim_size_ = next_claim_size(claim_size_, now.value - last_claim_at_.value, minimum_);
  const std::size_t size = std::min(claim_size_, max_claim);
  is_claiming_ = true;
  lock.unlock();
  const auto finish = [&](std::vector<ClaimedMail> mails) {
    lock.lock();
    is_claiming_ = false;
    was_full_ = mails.size() == size;
    last_claim_at_ = now;
    std::move(mails.begin(), mails.end(), std::back_inserter(mails_));
    claimed_.notify_all();
  };
  try {
    const auto claims = store_.deliveries.claim(owner, kClaimLeaseMillis, size, now);
    finish(claims.empty() ? std::vector<ClaimedMail>() : with_gifts(store_, owner, claims, now));
  } catch (...) {
    finish({});
    throw;
  }
}

std::vector<ClaimedMail> ClaimedMails::pop(const Wanted& wanted) {
  if (wanted.is_test) std::stable_sort(mails_.begin(), mails_.end(), is_tried_less);
  std::vector<ClaimedMail> taken;
  while (taken.size() < wanted.count && !mails_.empty()) {
    std::size_t next = 0;
    if (!wanted.suspects.empty()) {
      std::vector<std::string> waiting;
      for (const ClaimedMail& mail : mails_) waiting.push_back(mail.gift.transaction.email);
      next = most_telling(waiting, wanted.suspects);
    }
    const auto chosen = mails_.begin() + static_cast<std::ptrdiff_t>(next);
    taken.push_back(std::move(*chosen));
    mails_.erase(chosen);
  }
  is_idle_[wanted.connection] = false;
  return taken;
}

void ClaimedMails::drop_expired() {
  const UtcMillis now = now_();
  std::erase_if(mails_, [now](const ClaimedMail& mail) {
    return has_elapsed(mail.claimed_at, kMaxClaimAgeMillis, now);
  });
}

std::size_t ClaimedMails::idle_before(std::size_t connection) const {
  return static_cast<std::size_t>(
      std::count(is_idle_.begin(), is_idle_.begin() + static_cast<std::ptrdiff_t>(connection), true));
}

bool ClaimedMails::has_work_for(std::size_t connection) const {
  const std::lock_guard lock(mutex_);
  const std::size_t idle = idle_before(connection);
  return idle == 0 || mails_.size() > idle;
}

void ClaimedMails::set_paused(std::size_t connection) {
  const std::lock_guard lock(mutex_);
  is_idle_[connection] = false;
}

bool ClaimedMails::needs_more_connections() const {
  const std::lock_guard lock(mutex_);
  return !mails_.empty() && std::count(is_idle_.begin(), is_idle_.end(), true) > 0;
}

bool ClaimedMails::is_empty() const {
  const std::lock_guard lock(mutex_);
  return mails_.empty();
}

void ClaimedMails::release_all(const std::string& owner) {
  std::vector<DeliveryClaim> claims;
  {
    const std::lock_guard lock(mutex_);
    for (const ClaimedMail& mail : mails_) claims.push_back(mail.claim);
    mails_.clear();
    was_full_ = false;
  }
  store_.deliveries.release(owner, claims);
}

namespace {

/// A group waits for the other connections at most this long, and at most a quarter of a commit.
constexpr std::chrono::microseconds kMaxGathering{2000};

}  // namespace

AttemptWriter::AttemptWriter(store::DeliveryQueue& queue, std::function<UtcMillis()> now)
    : queue_(queue), now_(std::move(now)) {}

void AttemptWriter::join() {
  const std::lock_guard lock(mutex_);
  ++joined_;
}

void AttemptWriter::leave() {
  {
    const std::lock_guard lock(mutex_);
    --joined_;
  }
  changed_.notify_all();
}

std::vector<bool> AttemptWriter::write(const std::string& owner, const Attempts& attempts) {
  Waiting own{owner, attempts};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&own);
  changed_.notify_all();
  while (!own.is_done) {
    if (has_leader_)
      changed_.wait(lock);
    else
      lead(lock);
  }
  if (own.fault) std::rethrow_exception(own.fault);
  return std::move(own.has_started);
}

/// Commits all that waits, for the connections that wait.
void AttemptWriter::lead(std::unique_lock<std::mutex>& lock) {
  has_leader_ = true;
  changed_.wait_for(lock, std::min(last_commit_ / 4, kMaxGathering),
                    [this] { return waiting_.size() >= joined_; });
  const std::vector<Waiting*> group = std::exchange(waiting_, {});
  lock.unlock();
  const auto started_at = std::chrono::steady_clock::now();
  commit(group);
  last_commit_ =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_at);
  lock.lock();
  for (Waiting* waiting : group) waiting->is_done = true;
  has_leader_ = false;
  changed_.notify_all();
}

/// Sets result or fault of each.
void AttemptWriter::commit(const std::vector<Waiting*>& group) {
  bool is_transient = true;
  try {
    commit_together(group);
    return;
  } catch (const DependencyError& error) {
    is_transient = error.transient();
    for (Waiting* waiting : group) waiting->fault = std::current_exception();
  } catch (...) {
    for (Waiting* one : group) one->fault = std::current_exception();
  }
  if (is_transient || group.size() == 1) return;
  for (Waiting* one : group) {  // one of them is at fault: each for itself
    one->fault = nullptr;
    commit({one});
  }
}

void AttemptWriter::commit_together(const std::vector<Waiting*>& group) {
  std::vector<store::DeliveryOutcome> ended;
  store::DeliveryQueue::AttemptStart beginning{group.front()->owner, {}, kSendingLeaseMillis};
  for (const Waiting* waiting : group) {
    ended.insert(ended.end(), waiting->attempts.ended.begin(), waiting->attempts.ended.end());
    beginning.sendings.insert(beginning.sendings.end(), waiting->attempts.started.begin(),
                              waiting->attempts.started.end());
  }
  const std::vector<bool> has_started = queue_.finish_and_begin(ended, beginning, now_());
  auto next = has_started.begin();
  for (Waiting* one : group) {
    const auto count = static_cast<std::ptrdiff_t>(one->attempts.started.size());
    one->has_started.assign(next, next + count);
    next += count;
  }
}

}  // namespace giftsync::sync
