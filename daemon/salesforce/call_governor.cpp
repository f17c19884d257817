#include "daemon/salesforce/call_governor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace giftsync::daemon::salesforce {
namespace {

using platform::kDayMillis;
using platform::UtcMillis;

std::int64_t percent_of(std::int64_t amount, int percent) {
  return amount / 100 * percent + amount % 100 * percent / 100;
}

/// The part of the share up to which this may be spent; nullopt: also beyond the share.
std::optional<int> percent_of_share(Spending spending) {
  switch (spending) {
    case Spending::watch:
    case Spending::gifts:
    case Spending::matching:
    case Spending::status:
      return std::nullopt;
    case Spending::requests:
      return 100;
    case Spending::tasks:
      return 90;
    case Spending::backfill:
      return 80;
  }
  std::abort();  // a value outside its enumeration: a bug
}

constexpr std::string_view kMoreCalls =
    "find what uses the org's calls (Setup, System Overview), or buy calls";

/// The reason says what to mend.
constexpr std::string_view kMend =
    "mend that, or see giftsyncctl crm check; then run giftsyncctl crm retry --all";

std::int64_t bucket_start(UtcMillis now) {
  return now.value - now.value % kBucketMillis;
}

}  // namespace

std::string step_after_rest(std::string_view reason) {
  const auto says = [&](std::string_view words) { return reason.find(words) != std::string_view::npos; };
  // The same code stands for too many calls at once, which passes.
  if (says("REQUEST_LIMIT_EXCEEDED") && !says("Concurrent"))
    return fmt::format("{}; then run giftsyncctl crm retry --all", kMoreCalls);
  if (says("STORAGE_LIMIT_EXCEEDED")) return "free storage in the org, then run giftsyncctl crm retry --all";
  return {};
}

CallGovernor::CallGovernor(GovernorOptions options)
    : options_(options), rows_(std::max(options.most_rows, kLeastRows)) {}

CallPermit CallGovernor::permit(Spending spending, UtcMillis now) const {
  if (std::optional<CallPermit> refusal = rest_.refusal(now)) return *std::move(refusal);
  if (std::optional<CallPermit> refused = refusal(spending, now)) return *std::move(refused);
  if (std::optional<CallPermit> refusal = refusal_by_reserve(now)) return *std::move(refusal);
  if (std::optional<CallPermit> refusal = refusal_by_share(spending, now)) return *std::move(refusal);
  return {};
}

std::optional<CallPermit> CallGovernor::Rest::refusal(UtcMillis now) const {
  // A rest beyond a day was noted by a clock that has been set back since.
  if (now >= until || until > now + kDayMillis) return std::nullopt;
  return CallPermit{false, until, reason, needs_admin ? std::string(kMend) : step_after_rest(reason),
                    !needs_admin};
}

std::optional<CallPermit> CallGovernor::refusal(Spending spending, UtcMillis now) const {
  return refusals_[static_cast<std::size_t>(spending)].refusal(now);
}

/// The usage is as old as the last call. One call in a while looks whether the quota has become free.
std::optional<CallPermit> CallGovernor::refusal_by_reserve(UtcMillis now) const {
  if (!limits_ || platform::has_elapsed(last_call_, kProbeMillis, now)) return std::nullopt;
  const CallQuota& org = limits_->org;
  const UtcMillis probe = last_call_ + kProbeMillis;
  if (org.limit - org.used < percent_of(org.limit, options_.keep_free_percent))
    return CallPermit{false, probe,
                      fmt::format("{} of the org's {} calls are used, and {} % are kept free", org.used,
                                  org.limit, options_.keep_free_percent),
                      fmt::format("{}, or lower crm.salesforce.keep_free and reload giftsyncd", kMoreCalls)};
  if (limits_->app && limits_->app->used >= limits_->app->limit)
    return CallPermit{false, probe, fmt::format("all {} calls of the app are used", limits_->app->limit),
                      "have Salesforce raise the app's limit of calls"};
  return std::nullopt;
}

std::optional<CallPermit> CallGovernor::refusal_by_share(Spending spending, UtcMillis now) const {
  const std::optional<int> percent = percent_of_share(spending);
  const std::optional<std::int64_t> whole = share();
  if (!percent || !whole) return std::nullopt;
  const std::int64_t most = percent_of(*whole, *percent);
  std::int64_t calls = own_calls(now);
  if (calls < most) return std::nullopt;
  CallPermit refusal{false, now + kBucketMillis,
                     fmt::format("giftsync has used {} of its {} calls within 24 hours", calls, *whole),
                     "raise crm.salesforce.share and reload giftsyncd"};
  for (const Bucket& bucket : buckets_) {
    const UtcMillis end{bucket.start + kBucketMillis + kDayMillis};
    if (end <= now) continue;  // own_calls() does not count it
    calls -= bucket.calls;
    refusal.not_before = end;
    if (calls < most) break;
  }
  return refusal;
}

void CallGovernor::note_call(UtcMillis now) {
  drop_old_buckets(now);
  const std::int64_t start = bucket_start(now);
  if (buckets_.empty() || buckets_.back().start != start) buckets_.push_back({start, 0});
  ++buckets_.back().calls;
  last_call_ = now;
}

void CallGovernor::drop_old_buckets(UtcMillis now) {
  while (!buckets_.empty() && buckets_.front().start + kBucketMillis + kDayMillis <= now.value)
    buckets_.pop_front();
  // The clock was set back: calls of later times count from now on, as long as any other.
  const std::int64_t start = bucket_start(now);
  std::int64_t later = 0;
  while (!buckets_.empty() && buckets_.back().start > start) {
    later += buckets_.back().calls;
    buckets_.pop_back();
  }
  if (later == 0) return;
  if (buckets_.empty() || buckets_.back().start != start) buckets_.push_back({start, 0});
  buckets_.back().calls += later;
}

bool CallGovernor::note_limits(const LimitInfo& info, UtcMillis now) {
  const bool is_far_lower = limits_ && info.org.used < limits_->org.used / 2;
  limits_ = info;
  if (is_far_lower) end_rest();
  drop_old_buckets(now);
  return is_far_lower;
}

void CallGovernor::Rest::extend(UtcMillis time, std::string why, bool is_for_admin) {
  if (time > until) *this = {time, std::move(why), is_for_admin};
}

void CallGovernor::rest_until(UtcMillis time, std::string reason, bool needs_admin) {
  rest_.extend(time, std::move(reason), needs_admin);
}

void CallGovernor::refuse_until(UtcMillis time, std::string reason, Spending spending) {
  refusals_[static_cast<std::size_t>(spending)].extend(time, std::move(reason), true);
}

void CallGovernor::end_rest() {
  rest_ = {};
  refusals_ = {};
}

/// The usage of the last answer may be out of date: the next call is one that looks.
void CallGovernor::retry_now() {
  end_rest();
  outages_ = 0;
  last_call_ = {};
}

void CallGovernor::note_outage(UtcMillis now, const std::string& reason) {
  outages_ = std::min(outages_ + 1, kOutageCalls + kMostDoublings);
  if (outages_ < kOutageCalls) return;
  const std::int64_t wait = kLeastOutageMillis << (outages_ - kOutageCalls);
  rest_until(now + std::min(wait, kMostOutageMillis), reason);
}

void CallGovernor::note_outcome(const CallOutcome& outcome) {
  const std::size_t most = std::max(options_.most_rows, kLeastRows);
  if (outcome.halves_rows || outcome.millis > options_.slow_call_millis) {
    rows_ = std::max(rows_ / 2, kLeastRows);
    clean_calls_ = 0;
  } else if (++clean_calls_ >= kCleanCallsToDouble) {
    rows_ = std::min(rows_ * 2, most);
    clean_calls_ = 0;
  }
}

std::int64_t CallGovernor::own_calls(UtcMillis now) const {
  std::int64_t calls = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.start + kBucketMillis + kDayMillis > now.value) calls += bucket.calls;
  }
  return calls;
}

std::optional<std::int64_t> CallGovernor::share() const {
  if (!limits_) return std::nullopt;
  return percent_of(limits_->org.limit, options_.share_percent);
}

}  // namespace giftsync::daemon::salesforce
