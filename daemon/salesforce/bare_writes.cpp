#include "daemon/salesforce/bare_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "platform/dependency_pause.h"
#include "platform/logging.h"

namespace giftsync::daemon::salesforce {
namespace {

constexpr std::int64_t kTryMillis = 200;
/// A living writer releases its lease after a few calls: it is not worth waiting for the lease's end.
constexpr std::int64_t kMostPauseMillis = 5 * platform::kSecondMillis;

}  // namespace

BareWrites::Turn::Turn(BareWrites& writes) : writes_(writes) {
  writes_.begin_turn();
  try {
    writes_.check_lost_answer();
    writes_.take_lease();
  } catch (...) {
    writes_.end_turn();
    throw;
  }
}

BareWrites::Turn::~Turn() {
  writes_.release_lease();
  writes_.end_turn();
}

void BareWrites::begin_turn() {
  std::unique_lock lock(mutex_);
  const std::chrono::milliseconds longest(options_.longest_wait_millis);
  if (!turn_ended_.wait_for(lock, longest, [this] { return !has_turn_; }))
    pause("another thread of this process", kWriterLeaseMillis);
  has_turn_ = true;
}

void BareWrites::end_turn() {
  const std::lock_guard lock(mutex_);
  has_turn_ = false;
  turn_ended_.notify_one();
}

/// The org may still write what that call had: it would overwrite what is newer.
void BareWrites::check_lost_answer() const {
  if (!lost_answer_at_) return;
  const std::int64_t left = *lost_answer_at_ + kLongestCallMillis - platform::boottime_millis();
  if (left <= 0) return;
  throw platform::DependencyPause(
      clock_() + left,
      "the answer of a call was lost, which the org may still carry out; in bare mode nothing is written "
      "for two minutes",
      true);
}

void BareWrites::take_lease() {
  const std::int64_t start = platform::boottime_millis();
  for (;;) {
    const LeaseHolder holder = options_.lease.take(kWriterLeaseMillis);
    if (holder.is_this) return;
    if (platform::boottime_millis() - start >= options_.longest_wait_millis)
      pause(holder.owner, holder.remaining_millis);
    std::this_thread::sleep_for(std::chrono::milliseconds(kTryMillis));
  }
}

void BareWrites::release_lease() {
  if (lost_answer_at_ && platform::boottime_millis() - *lost_answer_at_ < kLongestCallMillis) return;
  lost_answer_at_.reset();
  try {
    options_.lease.release();
  } catch (const platform::DependencyError& fault) {
    const std::array<platform::LogField, 1> fields{{{"error", std::string_view(fault.what())}}};
    platform::log_debug("the writer's lease was not released and ends by itself", fields);
  }
}

void BareWrites::pause(const std::string& writer, std::int64_t remaining_millis) const {
  const std::int64_t wait = std::clamp<std::int64_t>(remaining_millis, kTryMillis, kMostPauseMillis);
  throw platform::DependencyPause(
      clock_() + wait,
      fmt::format(
          "another writer ({}) has the lease of crm.salesforce.mode: bare for up to {} s more; nothing "
          "is written here meanwhile",
          writer, (remaining_millis + platform::kSecondMillis - 1) / platform::kSecondMillis),
      true);
}

std::map<std::int64_t, std::int64_t> BareWrites::newest_versions(
    std::span<const schema::TransactionId> ids) const {
  std::map<std::int64_t, std::int64_t> versions;
  if (ids.empty()) return versions;
  for (const auto& [id, version] : options_.newest_versions(ids)) versions[id.value] = version;
  return versions;
}

void BareWrites::before_write() {
  if (options_.lease.renew(kWriterLeaseMillis)) return;
  throw platform::DependencyPause(
      clock_() + kTryMillis, "another writer took the lease of crm.salesforce.mode: bare meanwhile", true);
}

void BareWrites::note_lost_answer() {
  lost_answer_at_ = platform::boottime_millis();
}

}  // namespace giftsync::daemon::salesforce
