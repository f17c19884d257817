#include "daemon/http/router.h"

#include <spdlog/spdlog.h>

#include <chrono>

#include "daemon/http/problem.h"
#include "daemon/http/request_record_api.h"
#include "daemon/sso/connection_addresses.h"
#include "schema/broken_world.h"

namespace giftsync::daemon {
namespace {

using schema::SendMode;

constexpr std::string_view kProbes = "/-/";
constexpr std::string_view kHealthy = "/-/healthy";
constexpr std::string_view kReady = "/-/ready";
constexpr std::string_view kGiftRequests = "/api/v1/gift_requests";
constexpr std::string_view kUrlRequests = "/api/v1/webhooks/gift_requests";
constexpr std::string_view kCrmRequests = "/api/v1/crm/gift_requests";
constexpr std::string_view kStatusChanges = "/api/v1/webhooks/status_changes/";
constexpr std::string_view kRecords = RequestRecordApi::kPath;
constexpr std::int64_t kOutageRetrySeconds = 5;
constexpr std::int64_t kUnreadyAfterFaultMillis = 3000;

std::int64_t steady_millis() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

bool reads(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

HttpResponse plain(int status, std::string text) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}};
  response.body = std::move(text);
  return response;
}

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

/// What the two doors serve, for callers who have come to the other one.
bool is_of_base(std::string_view path) {
  return is_at_or_below(path, kGiftRequests) || path.starts_with(GiftLinks::kPath);
}
bool is_of_admin(std::string_view path) {
  return path == kUrlRequests || path == kCrmRequests || path.starts_with(kMetadataPath) ||
         path.starts_with(kStatusChanges) || is_at_or_below(path, kRecords);
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

HttpResponse Router::answer(const HttpRequest& request, ServedPaths served) noexcept {
  const std::int64_t began = steady_millis();
  std::string_view route = "(no such path)";
  HttpResponse response = answer_at(request, served, route);
  log_.note(request, route, response, steady_millis() - began);
  return response;
}

HttpResponse Router::answer_at(const HttpRequest& request, ServedPaths served, std::string_view& route) {
  try {
    HttpResponse response = this->route(request, served, route);
    // Only work that the store had a part in ends an outage; probes do not count.
    if (response.status < 300 && !request.path.starts_with(kProbes) && faults_in_a_row_ > 0) {
      spdlog::info("requests are answered again, after {} failed ones", faults_in_a_row_.exchange(0));
    }
    return response;
  } catch (const schema::BrokenWorld& broken) {
    return fault(request, route, broken.transient(), broken.what());
  }
}

HttpResponse Router::fault(const HttpRequest& request, std::string_view route, bool transient,
                           const char* what) {
  last_fault_millis_ = clock_().value;
  // One line when an outage begins, not one for each request; a fault that will not pass is worth a line each
  // time.
  if (faults_in_a_row_++ == 0 || !transient) {
    spdlog::error("{} {} failed: {} [request {}]", request.method, route, what, request.request_id);
  }
  return transient ? unavailable(kOutageRetrySeconds) : internal_error(request.request_id);
}

bool Router::failed_lately() const {
  return faults_in_a_row_ > 0 && clock_().value - last_fault_millis_ < kUnreadyAfterFaultMillis;
}

HttpResponse Router::readiness() {
  bool ready = false;
  try {
    ready = !failed_lately() && ready_();
  } catch (const schema::BrokenWorld&) {
    // The probe's answer says it; requests and loops log it.
  }
  return ready ? plain(200, "ready\n")
               : plain(503, "not ready: the store does not answer or takes no more\n");
}

HttpResponse Router::route(const HttpRequest& request, ServedPaths served, std::string_view& route) {
  const std::string_view path = request.path;
  if (path == kHealthy) {
    route = kHealthy;
    return reads(request) ? plain(200, "healthy\n") : method_not_allowed({"GET", "HEAD"});
  }
  if (path == kReady) {
    route = kReady;
    return reads(request) ? readiness() : method_not_allowed({"GET", "HEAD"});
  }
  if (served.base && path == kGiftRequests) {
    route = kGiftRequests;
    return request.method == "POST" ? api_.create(request, SendMode::email) : method_not_allowed({"POST"});
  }
  if (served.base && path.starts_with(kGiftRequests) && path.substr(kGiftRequests.size()).starts_with('/')) {
    const std::string_view id = path.substr(kGiftRequests.size() + 1);
    if (id.empty() || id.find('/') != std::string_view::npos) return unknown_path();
    route = "/api/v1/gift_requests/{id}";
    return reads(request) ? api_.read(request, id) : method_not_allowed({"GET", "HEAD"});
  }
  if (served.base && path.starts_with(GiftLinks::kPath)) {
    route = "/g/{link}";  // never the token: it opens the gift to whoever reads the log
    return page_(request, path.substr(GiftLinks::kPath.size()));
  }
  if (!served.base && is_of_base(path)) return served_at("server.base_url");
  if (!served.admin) return is_of_admin(path) ? served_at("server.admin_url") : unknown_path();
  return route_of_admin(request, route);
}

HttpResponse Router::route_of_admin(const HttpRequest& request, std::string_view& route) {
  const std::string_view path = request.path;
  if (path == kUrlRequests) {
    route = kUrlRequests;
    return request.method == "POST" ? api_.create(request, SendMode::urls) : method_not_allowed({"POST"});
  }
  if (path == kCrmRequests) {
    route = kCrmRequests;
    return request.method == "POST" ? crm_send_(request) : method_not_allowed({"POST"});
  }
  if (path.starts_with(kMetadataPath)) {
    route = "/api/v1/sso/metadata/{connection}";
    return reads(request) ? metadata_(path.substr(kMetadataPath.size()))
                          : method_not_allowed({"GET", "HEAD"});
  }
  if (path.starts_with(kStatusChanges)) {
    route = "/api/v1/webhooks/status_changes/{source}";
    return report_(request, path.substr(kStatusChanges.size()));
  }
  if (is_at_or_below(path, kRecords)) {
    route = path == kRecords ? kRecords : "/api/v1/request_records/{number}";
    return records_(request, path.substr(kRecords.size()));
  }
  return unknown_path();
}

}  // namespace giftsync::daemon
