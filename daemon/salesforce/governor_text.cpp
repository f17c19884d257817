// daemon/salesforce: the governor's state as text, so that a restart forgets no call.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "daemon/salesforce/answers.h"
#include "daemon/salesforce/call_governor.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kSpendingCount> kSpendingWords{
    "watch", "gifts", "matching", "status", "requests", "tasks", "backfill"};

std::int64_t number_at(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value ? value->integer().value_or(0) : 0;
}

Json json_of(const CallQuota& quota) {
  return Json::array({quota.used, quota.limit});
}

std::optional<CallQuota> quota_at(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  if (!value || value->elements().size() != 2) return std::nullopt;
  const auto used = value->elements()[0].integer();
  const auto limit = value->elements()[1].integer();
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
  for (std::size_t i = 0; i < kSpendingCount; ++i) {
    if (!refusals_[i].reason.empty())
      json["refusals"].push_back({{"calls", kSpendingWords[i]},
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
  const auto parsed = platform::parse_json(text);
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
  if (const JsonValue* needs_admin = json.find("rest_needs_admin"))
    read.rest_.needs_admin = needs_admin->boolean().value_or(false);
  if (const JsonValue* refusals = json.find("refusals")) {
    for (const JsonValue& one : refusals->elements()) {
      const auto* const word = std::ranges::find(kSpendingWords, text_at(one, "calls"));
      if (word == kSpendingWords.end()) continue;
      read.refusals_[static_cast<std::size_t>(word - kSpendingWords.begin())] = {
          {number_at(one, "until")}, text_at(one, "reason"), true};
    }
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

}  // namespace giftsync::daemon::salesforce
