#include "daemon/http/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "daemon/http/authenticator.h"
#include "daemon/http/problem.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "sync/access/credential.h"

namespace giftsync::http {
namespace {

constexpr std::int64_t kUnreadyAfterFailureMillis = 3'000;

}  // namespace

bool OutageTracker::record_failure() {
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  end_if_over(now);  // an error long after it belongs to another outage
  last_failure_ = now;
  succeeding_since_.reset();
  ++failures_;
  return !is_ongoing_.exchange(true);
}

void OutageTracker::record_success() {
  if (!is_ongoing_) return;
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  if (!succeeding_since_ || now < *succeeding_since_)
    succeeding_since_ = now;  // also after the clock was set back
  end_if_over(now);
}

void OutageTracker::log_if_over() {
  if (!is_ongoing_) return;
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  end_if_over(now);
}

bool OutageTracker::failed_recently() const {
  if (!is_ongoing_) return false;
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  return is_ongoing_ && !succeeding_since_ && now.value - last_failure_.value < kUnreadyAfterFailureMillis;
}

void OutageTracker::end_if_over(UtcMillis now) {
  if (!is_ongoing_ || !succeeding_since_ || now.value - succeeding_since_->value < kRecoveryMillis) return;
  log_event(LogEvent::store_recovered, fmt::format("store recovered; {} requests failed during the outage",
                                                   std::exchange(failures_, 0)));
  succeeding_since_.reset();
  is_ongoing_ = false;
}

namespace {

constexpr std::string_view kProbes = "/-/";

std::int64_t steady_millis() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

HttpResponse plain_text(int status, std::string text) {
  return text_response(status, "text/plain; charset=utf-8", std::move(text));
}

std::optional<HttpResponse> method_error(Methods allowed, const std::string& method) {
  if (allowed == Methods::post && method != "POST") return method_not_allowed({"POST"});
  if (allowed == Methods::reads && method != "GET" && method != "HEAD")
    return method_not_allowed({"GET", "HEAD"});
  const std::vector<std::string_view> both{"GET", "HEAD", "POST"};
  if (allowed == Methods::reads_and_post && std::find(both.begin(), both.end(), method) == both.end())
    return method_not_allowed(both);
  return std::nullopt;
}

/// Names the setting, not its value: the admin URL is not public (HTTP-12).
HttpResponse wrong_listener(std::string_view setting) {
  return not_found("Paths like this are not served at this address, but at the URL of the setting " +
                   std::string(setting) + ". Send it there; the operator of this giftsync knows the URL.");
}

std::optional<HttpResponse> listener_error(const Route& route, ListenerScope scope) {
  if (route.listener == ListenerRole::base && !scope.base) return wrong_listener("server.base_url");
  if (route.listener == ListenerRole::admin && !scope.admin) return wrong_listener("server.admin_url");
  return std::nullopt;
}

}  // namespace

Router::Router(Handlers handlers, Ready ready, std::string instance_id, HttpRefusalLog& log,
               const giftsync::Clock& clock)
    : handlers_(std::move(handlers)),
      readiness_(std::move(ready), clock),
      instance_line_("instance: " + std::move(instance_id) + "\n"),
      log_(log),
      outage_(clock) {
  handlers_.healthy = [](const HttpRequest&, std::string_view) { return plain_text(200, "healthy\n"); };
  handlers_.ready = [this](const HttpRequest&, std::string_view) { return readiness(); };
}

/// One request on its way.
struct Router::Call {
  const HttpRequest& request;
  std::string_view log_name = kNoSuchPath;  ///< of its route
  std::int64_t started_at = steady_millis();
};

Reply Router::handle(ListenerScope scope, const HttpRequest& request) noexcept {
  Call call{request};
  try {
    Reply reply = route(call, scope);
    return std::move(reply).changed(
        [this, call](const Reply::Finish& finish) { return conclude(call, finish); });
  } catch (const DependencyError&) {
    return conclude(call, []() -> HttpResponse { throw; });
  }
}

HttpResponse Router::conclude(const Call& call, const Reply::Finish& finish) noexcept {
  HttpResponse response = finish_or_fail(call, finish);
  log_.record(call.request, call.log_name, response, steady_millis() - call.started_at);
  return response;
}

HttpResponse Router::finish_or_fail(const Call& call, const Reply::Finish& finish) {
  try {
    HttpResponse response = finish();
    // Only successes that used the store end an outage; probes do not count.
    if (response.status < 300 && !call.request.path.starts_with(kProbes)) outage_.record_success();
    return response;
  } catch (const DependencyError& error) {
    return failure_response(call.request, call.log_name, error.transient(), error.what());
  }
}

HttpResponse Router::failure_response(const HttpRequest& request, std::string_view log_name, bool transient,
                                      const char* what) {
  // An outage is logged once when it begins, not for each request; a permanent error is logged each time.
  if (outage_.record_failure() || !transient)
    log_event(
        LogEvent::request_failed,
        fmt::format("{} {} failed: {} [request {}]", request.method, log_name, what, request.request_id),
        {LogField("request_id", request.request_id).not_in_text()});
  if (!transient) return internal_error(request.request_id);
  const auto [route, path_parameter] = find_route(request.path);
  if (route && route->handler == &Handlers::page && handlers_.page_unavailable)
    return handlers_.page_unavailable(request, OutageTracker::kRetrySeconds);
  if (route && route->handler == &Handlers::console && handlers_.console_unavailable)
    return handlers_.console_unavailable(request, OutageTracker::kRetrySeconds);
  return unavailable(OutageTracker::kRetrySeconds);
}

HttpResponse Router::readiness() {
  const bool ready = !outage_.failed_recently() && readiness_.is_ready();
  return ready ? plain_text(200, "ready\n" + instance_line_ + (ready_detail_ ? ready_detail_() : ""))
               : plain_text(503,
                            "not ready: the store does not respond or accepts no writes\n" + instance_line_);
}

Reply Router::route(Call& call, ListenerScope scope) {
  const HttpRequest& request = call.request;
  const auto [route, path_parameter] = find_route(request.path);
  if (!route) return unknown_path();
  if (auto refusal = listener_error(*route, scope)) return std::move(*refusal);
  call.log_name = route->log_name;
  if (!route->handler || !(handlers_.*route->handler)) return unknown_path();
  if (auto error = method_error(route->methods, request.method)) return std::move(*error);
  if (route->reader && request.method != "POST") return (handlers_.*route->reader)(request, path_parameter);
  return (handlers_.*route->handler)(request, path_parameter);
}

RequestPlan Router::plan(ListenerScope scope, const HttpRequest& head) const {
  const RouteMatch match = find_route(head.path);
  if (!match.route) return {.reads_body = false};
  const Route& route = *match.route;
  const bool reads_body = !listener_error(route, scope) && route.handler && handlers_.*route.handler &&
                          !method_error(route.methods, head.method) && has_credential(head, match);
  return {route.input.kind, route.group, route.input.max_body_bytes, reads_body,
          route.input.credential != RouteInput::Credential::none};
}

bool Router::has_credential(const HttpRequest& head, const RouteMatch& match) const {
  switch (match.route->input.credential) {
    case RouteInput::Credential::none:
      return true;
    case RouteInput::Credential::api_key: {
      const auto key = api_key_from_header(head);
      return key && sync::is_credential(CredentialKind::api_key, *key);
    }
    case RouteInput::Credential::organization_token:
      return sync::is_credential(CredentialKind::organization_token,
                                 trimmed(head.header(kOrganizationToken).value_or("")));
    case RouteInput::Credential::message_token:
      return sync::is_credential(CredentialKind::message_token, match.path_parameter);
    case RouteInput::Credential::source:
      return !handlers_.may_be_status_changes || handlers_.may_be_status_changes(head, match.path_parameter);
  }
  return true;
}

}  // namespace giftsync::http
