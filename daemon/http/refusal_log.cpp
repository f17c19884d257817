#include "daemon/http/refusal_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "platform/ip_address.h"
#include "platform/text.h"

namespace giftsync::http {
namespace {

/// A method is the caller's own text, of any length.
constexpr std::size_t kMethodLength = 16;
/// In a minute; further refusals of the caller for the same cause are counted.
constexpr std::size_t kLinesPerCause = 1;

/// Names the source: it is one of the settings, not the caller's own text.
std::string route_of(std::string_view route, const HttpResponse& response) {
  constexpr std::string_view kSource = "{source}";
  std::string text(route);
  const std::size_t at = response.source.empty() ? std::string::npos : text.find(kSource);
  return at == std::string::npos ? text : text.replace(at, kSource.size(), response.source);
}

/// What a refused webhook adds comes after the line; the rest is in it.
std::vector<LogField> fields_of(const HttpRequest& request, const HttpResponse& response) {
  return {{"source", response.source},
          {"reason", response.reason},
          LogField("request_id", request.request_id).not_in_text(),
          LogField("key", response.caller).not_in_text(),
          LogField("client", request.client).not_in_text()};
}

/// Status, code without the field at fault, and reason: of these there are few, whatever callers send.
std::string cause_of(const HttpResponse& response) {
  const std::string_view code = response.code;
  return fmt::format("{} {} {}", response.status, code.substr(0, code.find(':')), response.reason);
}

std::string format_line(const HttpRequest& request, std::string_view route, const HttpResponse& response) {
  return fmt::format("{} {}: {}{}{}, from {}{}{} [request {}]", truncated(request.method, kMethodLength),
                     route_of(route, response), response.status, response.code.empty() ? "" : " ",
                     response.code, request.client, response.caller.empty() ? "" : ", key ", response.caller,
                     request.request_id);
}

}  // namespace

HttpRefusalLog::~HttpRefusalLog() {
  for (const auto& caller : callers_) log_suppressed(caller, clock_());
  if (omitted_ > 0)
    log_event(LogEvent::many_requests_refused,
              fmt::format("{} more requests were refused, too many to list", omitted_));
}

void HttpRefusalLog::record(const HttpRequest& request, std::string_view route, const HttpResponse& response,
                            std::int64_t millis) {
  if (spdlog::should_log(spdlog::level::debug))
    log_debug(fmt::format("{}, {} ms", format_line(request, route, response), millis),
              fields_of(request, response));
  switch (response.status) {
    case 400:
    case 401:
    case 403:
    case 409:
    case 413:
    case 415:
    case 422:
    case 429:
      return record_refusal(
          rate_limit_prefix(request.client), cause_of(response),
          {LogEvent::request_refused, format_line(request, route, response), fields_of(request, response)});
    default:
      return;
  }
}

void HttpRefusalLog::record_refusal(const std::string& network, std::string cause, LogLine line) {
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  auto found = callers_.find({network, cause});
  if (found == callers_.end() && causes_of(network) >= kMaxCausesPerCaller) {
    cause.clear();
    found = callers_.find({network, cause});
  }
  if (found != callers_.end() && !has_elapsed(found->second.since, kMinuteMillis, now)) {
    found->second.admit(line, kLinesPerCause);
    return;
  }
  if (found != callers_.end()) {
    log_suppressed(*found, now);
    callers_.erase(found);
  }
  if (callers_.size() >= kMaxEntries) expire_callers(now);
  if (callers_.size() >= kMaxEntries || !may_log(now)) {
    ++omitted_;
    return;
  }
  callers_[{network, std::move(cause)}] = {now, kLinesPerCause, 0, {}};
  log_event(line.event, "refused: " + line.message, line.fields);
}

std::size_t HttpRefusalLog::causes_of(const std::string& network) const {
  std::size_t count = 0;
  for (auto entry = callers_.lower_bound({network, ""});
       entry != callers_.end() && entry->first.first == network; ++entry)
    count += entry->first.second.empty() ? 0 : 1;
  return count;
}

bool HttpRefusalLog::may_log(UtcMillis now) {
  if (has_elapsed(minute_start_, kMinuteMillis, now)) {
    if (omitted_ > 0)
      log_event(LogEvent::many_requests_refused,
                fmt::format("{} more requests of other callers were refused, too many to list", omitted_));
    minute_start_ = now;
    lines_logged_ = 0;
    omitted_ = 0;
  }
  return lines_logged_++ < kMaxLinesPerMinute;
}

void HttpRefusalLog::log_suppressed(const Callers::value_type& caller, UtcMillis now) {
  const SuppressionWindow& refusals = caller.second;
  if (refusals.suppressed == 0) return;
  if (!may_log(now)) {
    omitted_ += refusals.suppressed;
    return;
  }
  const bool is_many = refusals.suppressed >= kWarningThreshold;
  const LogLine& last = *refusals.last_suppressed;
  log_event(
      is_many ? LogEvent::many_requests_refused : last.event,
      fmt::format("refused: {} more within a minute, the last one: {}", refusals.suppressed, last.message),
      last.fields);
}

void HttpRefusalLog::expire_callers(UtcMillis now) {
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    if (!has_elapsed(caller->second.since, kMinuteMillis, now)) {
      ++caller;
      continue;
    }
    log_suppressed(*caller, now);
    caller = callers_.erase(caller);
  }
}

void HttpRefusalLog::flush() {
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  expire_callers(now);
  if (omitted_ > 0 && has_elapsed(minute_start_, kMinuteMillis, now)) {
    may_log(now);
    lines_logged_ = 0;  // that line reported the minute before
  }
}

}  // namespace giftsync::http
