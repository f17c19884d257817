#include "daemon/http/router.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>

#include "daemon/http/problem.h"
#include "platform/dependency_error.h"

namespace giftsync::daemon::http {
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
  return std::nullopt;
}

/// Names the setting, not its value: the admin URL is not public (HTTP-12).
HttpResponse wrong_listener(std::string_view setting) {
  return not_found("Paths like this are not served at this address, but at the URL of the setting " +
                   std::string(setting) + ". Send it there; the operator of this giftsync knows the URL.");
}

}  // namespace

Router::Router(Handlers handlers, Ready ready, std::string instance_id, HttpRefusalLog& log,
               const platform::Clock& clock)
    : handlers_(std::move(handlers)),
      ready_(std::move(ready)),
      instance_line_("instance: " + std::move(instance_id) + "\n"),
      log_(log),
      outage_(clock) {
  handlers_.healthy = [](const HttpRequest&, std::string_view) { return plain_text(200, "healthy\n"); };
  handlers_.ready = [this](const HttpRequest&, std::string_view) { return readiness(); };
}

HttpResponse Router::handle(ListenerScope scope, const HttpRequest& request) noexcept {
  const std::int64_t started_at = steady_millis();
  std::string_view log_name = kNoSuchPath;
  HttpResponse response = handle_or_fail(request, scope, log_name);
  log_.record(request, log_name, response, steady_millis() - started_at);
  return response;
}

HttpResponse Router::handle_or_fail(const HttpRequest& request, ListenerScope scope,
                                    std::string_view& log_name) {
  try {
    HttpResponse response = route(request, scope, log_name);
    // Only successes that used the store end an outage; probes do not count.
    if (response.status < 300 && !request.path.starts_with(kProbes)) outage_.record_success();
    return response;
  } catch (const platform::DependencyError& error) {
    return failure_response(request, log_name, error.transient(), error.what());
  }
}

HttpResponse Router::failure_response(const HttpRequest& request, std::string_view log_name, bool transient,
                                      const char* what) {
  // An outage is logged once when it begins, not for each request; a permanent error is logged each time.
  if (outage_.record_failure() || !transient)
    spdlog::error("{} {} failed: {} [request {}]", request.method, log_name, what, request.request_id);
  if (!transient) return internal_error(request.request_id);
  const auto [route, path_parameter] = find_route(request.path);
  const bool is_page = route && route->handler == &Handlers::page && handlers_.page_unavailable;
  return is_page ? handlers_.page_unavailable(request, OutageTracker::kRetrySeconds)
                 : unavailable(OutageTracker::kRetrySeconds);
}

HttpResponse Router::readiness() {
  bool ready = false;
  try {
    ready = !outage_.failed_recently() && ready_();
  } catch (const platform::DependencyError&) {
    // The response of the probe reports it; requests and workers log it.
  }
  return ready ? plain_text(200, "ready\n" + instance_line_)
               : plain_text(503,
                            "not ready: the store does not respond or accepts no writes\n" + instance_line_);
}

HttpResponse Router::route(const HttpRequest& request, ListenerScope scope, std::string_view& log_name) {
  const auto [route, path_parameter] = find_route(request.path);
  if (!route) return unknown_path();
  if (route->listener == ListenerRole::base && !scope.base) return wrong_listener("server.base_url");
  if (route->listener == ListenerRole::admin && !scope.admin) return wrong_listener("server.admin_url");
  log_name = route->log_name;
  if (!route->handler) return unknown_path();
  if (auto error = method_error(route->methods, request.method)) return std::move(*error);
  return (handlers_.*route->handler)(request, path_parameter);
}

}  // namespace giftsync::daemon::http
