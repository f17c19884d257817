#include "crm/salesforce/records/bare_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/time.h"
#include "schema/contact_normalization.h"

namespace giftsync::salesforce {
namespace {

constexpr std::int64_t kTryMillis = 200;
/// A living writer releases its lease after a few calls: it is not worth waiting for the lease's end.
constexpr std::int64_t kMostPauseMillis = 5 * kSecondMillis;

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
  const std::int64_t left = *lost_answer_at_ + kLongestCallMillis - boottime_millis();
  if (left <= 0) return;
  throw giftsync::DependencyPause(
      clock_() + left,
      "the answer of a call was lost, which the org may still carry out; in bare mode nothing is written "
      "for two minutes",
      true);
}

void BareWrites::take_lease() {
  const std::int64_t start = boottime_millis();
  for (;;) {
    const LeaseHolder holder = options_.lease.take(kWriterLeaseMillis);
    if (holder.is_this) return;
    if (boottime_millis() - start >= options_.longest_wait_millis)
      pause(holder.owner, holder.remaining_millis);
    std::this_thread::sleep_for(std::chrono::milliseconds(kTryMillis));
  }
}

void BareWrites::release_lease() {
  if (lost_answer_at_ && boottime_millis() - *lost_answer_at_ < kLongestCallMillis) return;
  lost_answer_at_.reset();
  try {
    options_.lease.release();
  } catch (const giftsync::DependencyError& fault) {
    log_debug("the writer's lease was not released and ends by itself", {{"error", fault.what()}});
  }
}

void BareWrites::pause(const std::string& writer, std::int64_t remaining_millis) const {
  const std::int64_t wait = std::clamp<std::int64_t>(remaining_millis, kTryMillis, kMostPauseMillis);
  throw giftsync::DependencyPause(
      clock_() + wait,
      fmt::format(
          "another writer ({}) has the lease of crm.salesforce.mode: bare for up to {} s more; nothing "
          "is written here meanwhile",
          writer, (remaining_millis + kSecondMillis - 1) / kSecondMillis),
      true);
}

std::map<std::int64_t, std::int64_t> BareWrites::newest_versions(std::span<const TransactionId> ids) const {
  std::map<std::int64_t, std::int64_t> versions;
  if (ids.empty()) return versions;
  for (const auto& [id, version] : options_.newest_versions(ids)) versions[id.value] = version;
  return versions;
}

void BareWrites::before_write() {
  if (options_.lease.renew(kWriterLeaseMillis)) return;
  throw giftsync::DependencyPause(
      clock_() + kTryMillis, "another writer took the lease of crm.salesforce.mode: bare meanwhile", true);
}

void BareWrites::note_lost_answer() {
  lost_answer_at_ = boottime_millis();
}

namespace {

std::string address_of(const GiftRecord& record) {
  const auto* address = std::get_if<std::string>(&record.get(GiftField::recipient_email));
  return address == nullptr ? std::string() : email_key(*address);
}

}  // namespace

bool is_own_record(const GiftRecord& record, const GiftRecord& gift) {
  const std::string address = address_of(record);
  const std::string own_address = address_of(gift);
  if (!address.empty() && own_address.starts_with(address)) return true;
  const auto* sent_at = std::get_if<UtcMillis>(&record.get(GiftField::sent_at));
  const auto* own_sent_at = std::get_if<UtcMillis>(&gift.get(GiftField::sent_at));
  if (sent_at != nullptr && own_sent_at != nullptr) return are_within_a_second(*sent_at, *own_sent_at);
  return own_address.empty() && own_sent_at == nullptr && address.empty() && sent_at == nullptr;
}

}  // namespace giftsync::salesforce
