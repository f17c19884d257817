#include "daemon/http/router.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>

#include "daemon/http/problem.h"
#include "schema/broken_world.h"

namespace giftsync::daemon {
namespace {

constexpr std::string_view kProbes = "/-/";

std::int64_t steady_millis() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

HttpResponse plain(int status, std::string text) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}};
  response.body = std::move(text);
  return response;
}

std::optional<HttpResponse> method_fault(Methods allowed, const std::string& method) {
  if (allowed == Methods::post && method != "POST") return method_not_allowed({"POST"});
  if (allowed == Methods::reads && method != "GET" && method != "HEAD")
    return method_not_allowed({"GET", "HEAD"});
  return std::nullopt;
}

/// The setting by name, not by value: the public need not know where the company's own people come in.
HttpResponse served_at(std::string_view setting) {
  return problem({404,
                  "not_found",
                  "There is nothing at this address",
                  "Paths like this are not served at this address, but at the URL of the setting " +
                      std::string(setting) + ". Send it there; whoever runs this giftsync knows the URL.",
                  {}});
}

}  // namespace

Router::Router(Answers answers, Ready ready, RequestLog& log, const Clock& clock)
    : answers_(std::move(answers)), ready_(std::move(ready)), log_(log), outage_(clock) {
  answers_.healthy = [](const HttpRequest&, std::string_view) { return plain(200, "healthy\n"); };
  answers_.ready = [this](const HttpRequest&, std::string_view) { return readiness(); };
}

HttpResponse Router::answer(const HttpRequest& request, ServedPaths served) noexcept {
  const std::int64_t began = steady_millis();
  std::string_view logged_as = kNoSuchPath;
  HttpResponse response = answer_at(request, served, logged_as);
  log_.note(request, logged_as, response, steady_millis() - began);
  return response;
}

HttpResponse Router::answer_at(const HttpRequest& request, ServedPaths served, std::string_view& logged_as) {
  try {
    HttpResponse response = route(request, served, logged_as);
    // Only work that the store had a part in ends an outage; probes do not count.
    if (response.status < 300 && !request.path.starts_with(kProbes)) outage_.note_answer();
    return response;
  } catch (const schema::BrokenWorld& broken) {
    return fault(request, logged_as, broken.transient(), broken.what());
  }
}

HttpResponse Router::fault(const HttpRequest& request, std::string_view logged_as, bool transient,
                           const char* what) {
  // One line when an outage begins, not one for each request; a fault that will not pass is worth a line each
  // time.
  if (outage_.note_fault() || !transient)
    spdlog::error("{} {} failed: {} [request {}]", request.method, logged_as, what, request.request_id);
  return transient ? unavailable(Outage::kRetrySeconds) : internal_error(request.request_id);
}

HttpResponse Router::readiness() {
  bool ready = false;
  try {
    ready = !outage_.failed_lately() && ready_();
  } catch (const schema::BrokenWorld&) {
    // The probe's answer says it; requests and loops log it.
  }
  return ready ? plain(200, "ready\n")
               : plain(503, "not ready: the store does not answer or takes no more\n");
}

HttpResponse Router::route(const HttpRequest& request, ServedPaths served, std::string_view& logged_as) {
  const auto [route, named] = find_route(request.path);
  if (!route) return unknown_path();
  if (route->door == Door::base && !served.base) return served_at("server.base_url");
  if (route->door == Door::admin && !served.admin) return served_at("server.admin_url");
  logged_as = route->logged_as;
  if (!route->answer) return unknown_path();
  if (auto fault = method_fault(route->methods, request.method)) return std::move(*fault);
  return (answers_.*route->answer)(request, named);
}

}  // namespace giftsync::daemon
