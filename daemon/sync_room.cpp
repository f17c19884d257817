#include "daemon/sync_room.h"

#include <spdlog/spdlog.h>

#include "daemon/clock.h"
#include "daemon/counted.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kPaceMillis = 500;
constexpr std::int64_t kHeldLatelyMillis = 2 * schema::kMinuteMillis;
constexpr std::size_t kMostSaid = 10'000;

}  // namespace

SyncRoom::SyncRoom(schema::Store& store, schema::Crm& crm, sync::SyncRules rules, FaultWords fault_words)
    : store_(store), crm_(crm), rules_(std::move(rules)), fault_words_(std::move(fault_words)) {}

void SyncRoom::start(const std::string& owner, const std::function<bool()>& give_way) {
  lease_.owner = owner;
  helpers_lease_.owner = "second hand of " + owner;
  for (const sync::SyncLease& lease : {lease_, helpers_lease_}) store_.sync.break_leases(lease.owner);
  store_.sync.cut_leases(sync::kSyncLeaseMillis);
  helper_ = std::make_unique<Loop>(Loop::Work{"sync helper", kPaceMillis, [this, give_way](Loop&) {
                                                if (has_left_claims_) free_helpers_claims();
                                                if (help_is_wanted_ && !give_way()) help();
                                                return help_is_wanted_ && !give_way();
                                              }});
  loop_ = std::make_unique<Loop>(Loop::Work{"sync", kPaceMillis, [this](Loop&) { return sync(); },
                                            [this] { store_.sync.break_leases(lease_.owner); }, give_way});
  to_wake_ = loop_.get();
}

void SyncRoom::wake() {
  if (Loop* const loop = to_wake_) loop->wake();
}

void SyncRoom::request_stop() {
  for (const auto* loop : {&loop_, &helper_}) {
    if (*loop) (*loop)->request_stop();
  }
}

void SyncRoom::stop() {
  to_wake_ = nullptr;
  loop_.reset();
  helper_.reset();
}

bool SyncRoom::alive(std::int64_t longest_silence_millis) const {
  for (const auto* loop : {&loop_, &helper_}) {
    if (*loop && (*loop)->silent_millis() > longest_silence_millis) return false;
  }
  return true;
}

bool SyncRoom::sync() {
  const schema::UtcMillis now = system_now();
  tell_of_released(store_.changes.release_held(now, now - kHeldLatelyMillis), now);
  const bool more = take_batch_or_tell(now).more;
  if (more && !help_is_wanted_.exchange(true)) helper_->wake();
  return more;
}

/// A fault that lasts is no news: the sync loop meets it as well, and tells it.
void SyncRoom::help() {
  try {
    if (!take_batch(helpers_lease_, system_now()).more) help_is_wanted_ = false;
  } catch (const schema::BrokenWorld& fault) {
    help_is_wanted_ = false;
    has_left_claims_ = true;
    spdlog::debug("sync helper: {}", fault.what());
    free_helpers_claims();
  }
}

/// Tried until it works: the store itself may be away.
void SyncRoom::free_helpers_claims() {
  try {
    store_.sync.break_leases(helpers_lease_.owner);
    has_left_claims_ = false;
  } catch (const schema::BrokenWorld& fault) {
    spdlog::debug("sync helper: {}", fault.what());
  }
}

sync::SyncReport SyncRoom::take_batch(const sync::SyncLease& lease, schema::UtcMillis now) {
  sync::SyncReport report = sync::sync_step(store_, crm_, rules_, lease, now);
  tell_notes(report.notes);
  if (report.claimed > 0) {
    spdlog::debug("sync: {} gifts: {} created, {} updated, {} unchanged, {} skipped, {} failed",
                  report.claimed, report.created, report.updated, report.unchanged, report.skipped,
                  report.failed);
  }
  return report;
}

/// The better words look into the CRM, so they are not asked for with every failed try; but somebody may be
/// mending it, one thing after the other.
const std::string& SyncRoom::words_for(const schema::BrokenWorld& fault, schema::UtcMillis now) {
  const bool is_told = told_fault_ && told_fault_->own_words == fault.what() &&
                       !is_over(told_fault_->asked_at, schema::kMinuteMillis, now);
  if (!is_told) told_fault_ = {fault.what(), fault_words_(fault), now};
  return told_fault_->words;
}

/// What the batch failed for is kept with its gifts: `giftsyncctl status` tells it, wherever the log is.
sync::SyncReport SyncRoom::take_batch_or_tell(schema::UtcMillis now) {
  try {
    sync::SyncReport report = take_batch(lease_, now);
    told_fault_.reset();
    return report;
  } catch (const schema::BrokenWorld& fault) {
    help_is_wanted_ = false;  // before the batch is free: in other hands it would look as if all were well
    const std::string& words = words_for(fault, now);
    try {
      store_.sync.note_fault(lease_.owner, words);
    } catch (const schema::BrokenWorld&) {
      // The store is not well either: the first fault is told.
    }
    throw schema::BrokenWorld(fault.transient(), words, fault.of_foreign_crm());
  }
}

void SyncRoom::tell_notes(const std::vector<std::string>& notes) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> news;
  for (const std::string& note : notes) {
    if (said_.size() >= kMostSaid) said_.clear();
    if (said_.insert(note).second) news.push_back(note);
  }
  // Of the two hands the slower one shall not bring an earlier time.
  for (const std::string& line : notes_.lines(news, system_now())) spdlog::warn("{}", line);
}

/// One line a minute at most.
void SyncRoom::tell_of_released(std::int64_t released, schema::UtcMillis now) {
  released_untold_ += released;
  if (released_untold_ == 0 || !is_over(released_told_at_, schema::kMinuteMillis, now)) return;
  spdlog::info("sync: {} found {} gift", counted(released_untold_, "held change"),
               verb_for(released_untold_, "its", "their"));
  released_untold_ = 0;
  released_told_at_ = now;
}

}  // namespace giftsync::daemon
