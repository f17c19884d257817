// daemon/salesforce: the governor's state as text, so that a restart forgets no call.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/salesforce/call_governor.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using Json = nlohmann::ordered_json;

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
  json["resting_until"] = resting_until_.value;
  json["resting_reason"] = resting_reason_;
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
  read.resting_until_.value = number_at(json, "resting_until");
  if (const JsonValue* reason = json.find("resting_reason"))
    read.resting_reason_ = reason->text().value_or("");
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
