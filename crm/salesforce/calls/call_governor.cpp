#include "crm/salesforce/calls/call_governor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "crm/salesforce/calls/answers.h"
#include "platform/json.h"
#include "platform/strict_json.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {

std::int64_t percent_of(std::int64_t amount, int percent) {
  return amount / 100 * percent + amount % 100 * percent / 100;
}

/// The part of the share up to which this may be spent; nullopt: also beyond the share.
std::optional<int> percent_of_share(CallPurpose purpose) {
  switch (purpose) {
    case CallPurpose::watch:
    case CallPurpose::gifts:
    case CallPurpose::matching:
    case CallPurpose::status:
      return std::nullopt;
    case CallPurpose::requests:
      return 100;
    case CallPurpose::tasks:
      return 90;
    case CallPurpose::backfill:
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

CallPermit CallGovernor::permit(CallPurpose purpose, UtcMillis now) const {
  if (std::optional<CallPermit> refusal = rest_.refusal(now)) return *std::move(refusal);
  if (std::optional<CallPermit> refused = refusal(purpose, now)) return *std::move(refused);
  if (std::optional<CallPermit> refusal = refusal_by_reserve(now)) return *std::move(refusal);
  if (std::optional<CallPermit> refusal = refusal_by_share(purpose, now)) return *std::move(refusal);
  return {};
}

std::optional<CallPermit> CallGovernor::Rest::refusal(UtcMillis now) const {
  // A rest beyond a day was noted by a clock that has been set back since.
  if (now >= until || until > now + kDayMillis) return std::nullopt;
  return CallPermit{false, until, reason, needs_admin ? std::string(kMend) : step_after_rest(reason),
                    !needs_admin};
}

std::optional<CallPermit> CallGovernor::refusal(CallPurpose purpose, UtcMillis now) const {
  return refusals_[static_cast<std::size_t>(purpose)].refusal(now);
}

/// The usage is as old as the last call. One call in a while looks whether the quota has become free.
std::optional<CallPermit> CallGovernor::refusal_by_reserve(UtcMillis now) const {
  if (!limits_ || has_elapsed(last_call_, kProbeMillis, now)) return std::nullopt;
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

std::optional<CallPermit> CallGovernor::refusal_by_share(CallPurpose purpose, UtcMillis now) const {
  const std::optional<int> percent = percent_of_share(purpose);
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

void CallGovernor::refuse_until(UtcMillis time, std::string reason, CallPurpose purpose) {
  refusals_[static_cast<std::size_t>(purpose)].extend(time, std::move(reason), true);
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

// The governor's state as text, so that a restart forgets no call.

namespace {

constexpr std::array<std::string_view, kCallPurposeCount> kPurposeWords{
    "watch", "gifts", "matching", "status", "requests", "tasks", "backfill"};

Json json_of(const CallQuota& quota) {
  return Json::array({quota.used, quota.limit});
}

std::optional<CallQuota> quota_at(const JsonValue& object, std::string_view name) {
  const std::span<const JsonValue> quota = list_at(object, name);
  if (quota.size() != 2) return std::nullopt;
  const auto used = quota[0].integer();
  const auto limit = quota[1].integer();
  return used && limit && *used >= 0 && *limit > 0 ? std::optional(CallQuota{*used, *limit}) : std::nullopt;
}

}  // namespace

std::string CallGovernor::to_text() const {
  Json json;
  json["rows"] = rows_;
  json["clean_calls"] = clean_calls_;
  json["outages"] = outages_;
  json["last_call"] = last_call_.value;
  json["resting_until"] = rest_.until.value;
  json["resting_reason"] = rest_.reason;
  json["rest_needs_admin"] = rest_.needs_admin;
  json["refusals"] = Json::array();
  for (std::size_t i = 0; i < kCallPurposeCount; ++i) {
    if (!refusals_[i].reason.empty())
      json["refusals"].push_back({{"calls", kPurposeWords[i]},
                                  {"until", refusals_[i].until.value},
                                  {"reason", refusals_[i].reason}});
  }
  if (limits_) json["org"] = json_of(limits_->org);
  if (limits_ && limits_->app) json["app"] = json_of(*limits_->app);
  json["buckets"] = Json::array();
  for (const Bucket& bucket : buckets_) json["buckets"].push_back(Json::array({bucket.start, bucket.calls}));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool CallGovernor::read_text(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->root().is_object()) return false;
  const JsonValue& json = parsed->root();
  CallGovernor read(options_);
  const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(number_at(json, "rows"), 0));
  read.rows_ = std::clamp(rows, kLeastRows, std::max(options_.most_rows, kLeastRows));
  read.clean_calls_ =
      static_cast<int>(std::clamp<std::int64_t>(number_at(json, "clean_calls"), 0, kCleanCallsToDouble));
  read.outages_ = static_cast<int>(
      std::clamp<std::int64_t>(number_at(json, "outages"), 0, kOutageCalls + kMostDoublings));
  read.last_call_.value = number_at(json, "last_call");
  read.rest_ = {{number_at(json, "resting_until")}, text_at(json, "resting_reason")};
  read.rest_.needs_admin = flag_at(json, "rest_needs_admin");
  for (const JsonValue& refusal : list_at(json, "refusals")) {
    const auto* const word = std::ranges::find(kPurposeWords, text_at(refusal, "calls"));
    if (word == kPurposeWords.end()) continue;
    read.refusals_[static_cast<std::size_t>(word - kPurposeWords.begin())] = {
        {number_at(refusal, "until")}, text_at(refusal, "reason"), true};
  }
  if (const auto org = quota_at(json, "org")) read.limits_ = LimitInfo{*org, quota_at(json, "app")};
  const JsonValue* buckets = json.find("buckets");
  if (!buckets) return false;
  for (const JsonValue& bucket : buckets->elements()) {
    if (bucket.elements().size() != 2) return false;
    const auto start = bucket.elements()[0].integer();
    const auto calls = bucket.elements()[1].integer();
    if (!start || !calls || *calls < 0) return false;
    if (!read.buckets_.empty() && read.buckets_.back().start >= *start) return false;
    read.buckets_.push_back({*start, *calls});
  }
  *this = std::move(read);
  return true;
}

// The header in which Salesforce tells the used calls.

namespace {

/// "17/250(appName=x)": what follows the second number is a comment.
std::optional<CallQuota> quota_of(std::string_view text) {
  text = text.substr(0, text.find('('));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto used = parse_number<std::int64_t>(trimmed(text.substr(0, slash)));
  const auto limit = parse_number<std::int64_t>(trimmed(text.substr(slash + 1)));
  if (!used || !limit || *used < 0 || *limit <= 0) return std::nullopt;
  return CallQuota{*used, *limit};
}

/// Items are separated by semicolons or commas: a client may join two headers of one name by a comma.
std::string_view take_item(std::string_view& header) {
  const std::size_t end = header.find_first_of(";,");
  const std::string_view item = trimmed(header.substr(0, end));
  header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
  return item;
}

}  // namespace

std::optional<LimitInfo> parse_limit_info(std::string_view header) {
  std::optional<CallQuota> org;
  std::optional<CallQuota> app;
  while (!header.empty()) {
    const std::string_view item = take_item(header);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name = ascii_lower(trimmed(item.substr(0, equals)));
    const std::string_view value = item.substr(equals + 1);
    if (name == "api-usage") org = quota_of(value);
    if (name == "per-app-api-usage") app = quota_of(value);
  }
  if (!org) return std::nullopt;
  return LimitInfo{*org, app};
}

}  // namespace giftsync::salesforce
