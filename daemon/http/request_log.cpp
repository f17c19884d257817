#include "daemon/http/request_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/pages/guess_limit.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

/// A method is the caller's own text, of any length.
constexpr std::size_t kMethodLength = 16;

std::string line_of(const HttpRequest& request, std::string_view route, const HttpResponse& response) {
  return fmt::format("{} {}: {}{}{}, from {}{}{} [request {}]",
                     schema::truncated(request.method, kMethodLength), route, response.status,
                     response.code.empty() ? "" : " ", response.code, request.client,
                     response.caller.empty() ? "" : ", key ", response.caller, request.request_id);
}

}  // namespace

RequestLog::~RequestLog() {
  for (const auto& caller : callers_) tell_rest(caller, clock_());
  if (unlisted_ > 0) spdlog::warn("{} more requests were refused, too many to list", unlisted_);
}

void RequestLog::note(const HttpRequest& request, std::string_view route, const HttpResponse& response,
                      std::int64_t millis) {
  if (spdlog::should_log(spdlog::level::debug))
    spdlog::debug("{}, {} ms", line_of(request, route, response), millis);
  switch (response.status) {
    case 401:
    case 403:
    case 429:
      return note_refusal(Kind::credentials, network_of(request.client), line_of(request, route, response));
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
      return note_refusal(Kind::content, network_of(request.client), line_of(request, route, response));
    default:
      return;
  }
}

void RequestLog::note_refusal(Kind kind, const std::string& network, const std::string& line) {
  const schema::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  const auto found = callers_.find({network, kind});
  if (found != callers_.end() && !is_over(found->second.since, schema::kMinuteMillis, now)) {
    ++found->second.untold;
    found->second.last = line;
    return;
  }
  if (found != callers_.end()) {
    tell_rest(*found, now);
    callers_.erase(found);
  }
  if (callers_.size() >= kMostCallers) forget_old(now);
  if (callers_.size() >= kMostCallers || !may_tell(now)) {
    ++unlisted_;
    return;
  }
  callers_[{network, kind}] = {now, 0, {}};
  spdlog::info("refused: {}", line);
}

bool RequestLog::may_tell(schema::UtcMillis now) {
  if (is_over(lines_since_, schema::kMinuteMillis, now)) {
    if (unlisted_ > 0)
      spdlog::warn("{} more requests of other callers were refused, too many to list", unlisted_);
    lines_since_ = now;
    lines_ = unlisted_ = 0;
  }
  return lines_++ < kMostLines;
}

void RequestLog::tell_rest(const Callers::value_type& caller, schema::UtcMillis now) {
  const Refusals& refusals = caller.second;
  if (refusals.untold == 0) return;
  if (!may_tell(now)) {
    unlisted_ += refusals.untold;
    return;
  }
  spdlog::log(refusals.untold < kFlood ? spdlog::level::info : spdlog::level::warn,
              "refused: {} more within a minute, the last one: {}", refusals.untold, refusals.last);
}

void RequestLog::forget_old(schema::UtcMillis now) {
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    if (!is_over(caller->second.since, schema::kMinuteMillis, now)) {
      ++caller;
      continue;
    }
    tell_rest(*caller, now);
    caller = callers_.erase(caller);
  }
}

void RequestLog::catch_up() {
  const schema::UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  forget_old(now);
  if (unlisted_ > 0 && is_over(lines_since_, schema::kMinuteMillis, now)) {
    may_tell(now);
    lines_ = 0;  // it told of those before
  }
}

}  // namespace giftsync::daemon
