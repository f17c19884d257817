// daemon/http: from a path and a method to the room that answers; the last place where a fault of the world
// becomes an answer (503 with Retry-After, or 500). Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "daemon/http/gift_api.h"
#include "daemon/http/http_message.h"
#include "daemon/http/request_log.h"

namespace giftsync::daemon {

/// Which of the two addresses a door serves (Spec 1: base_url and admin_url may be different ones).
struct ServedPaths {
  bool base = true;
  bool admin = true;
};

class Router {
 public:
  using Page = std::function<HttpResponse(const HttpRequest&, std::string_view token)>;
  using Ready = std::function<bool()>;
  using Report = std::function<HttpResponse(const HttpRequest&, std::string_view source)>;
  using CrmSend = std::function<HttpResponse(const HttpRequest&)>;
  using Metadata = std::function<HttpResponse(std::string_view connection)>;
  using Records = std::function<HttpResponse(const HttpRequest&, std::string_view rest)>;
  Router(GiftApi& api, Page page, Report report, CrmSend crm_send, Metadata metadata, Records records,
         Ready ready, RequestLog& log, Clock clock)
      : api_(api),
        page_(std::move(page)),
        report_(std::move(report)),
        crm_send_(std::move(crm_send)),
        metadata_(std::move(metadata)),
        records_(std::move(records)),
        ready_(std::move(ready)),
        log_(log),
        clock_(std::move(clock)) {}

  /// Never throws.
  HttpResponse answer(const HttpRequest& request, ServedPaths served) noexcept;

 private:
  HttpResponse readiness();
  /// True while requests fail: a store that still takes the probe's few bytes may refuse a gift request's.
  bool failed_lately() const;
  /// All of these set `route` to the route's pattern, for the log.
  HttpResponse answer_at(const HttpRequest& request, ServedPaths served, std::string_view& route);
  HttpResponse route(const HttpRequest& request, ServedPaths served, std::string_view& route);
  HttpResponse route_of_admin(const HttpRequest& request, std::string_view& route);
  HttpResponse fault(const HttpRequest& request, std::string_view route, bool transient, const char* what);

  GiftApi& api_;
  const Page page_;
  const Report report_;
  const CrmSend crm_send_;
  const Metadata metadata_;
  const Records records_;
  const Ready ready_;
  RequestLog& log_;
  const Clock clock_;
  std::atomic<std::int64_t> faults_in_a_row_{0};
  std::atomic<std::int64_t> last_fault_millis_{0};
};

}  // namespace giftsync::daemon
