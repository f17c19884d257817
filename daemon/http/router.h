// daemon/http: from a path and a method to the room that answers (the table is in routes.h); the last place
// where a fault of the world becomes an answer (503 with Retry-After, or 500). Any thread.
#pragma once

#include <functional>
#include <string_view>

#include "daemon/http/http_message.h"
#include "daemon/http/outage.h"
#include "daemon/http/request_log.h"
#include "daemon/http/routes.h"

namespace giftsync::daemon {

/// Which of the two addresses a door serves (Spec 1: base_url and admin_url may be different ones).
struct ServedPaths {
  bool base = true;
  bool admin = true;
};

class Router {
 public:
  /// Whether the store answers and takes something. May throw schema::BrokenWorld.
  using Ready = std::function<bool()>;
  /// `answers` without the probes'.
  Router(Answers answers, Ready ready, RequestLog& log, const Clock& clock);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Never throws.
  HttpResponse answer(const HttpRequest& request, ServedPaths served) noexcept;
  /// Tells of an outage that is over; called every few seconds.
  void catch_up() { outage_.catch_up(); }

 private:
  HttpResponse readiness();
  /// Both set `logged_as` to the route's name in the log.
  HttpResponse answer_at(const HttpRequest& request, ServedPaths served, std::string_view& logged_as);
  HttpResponse route(const HttpRequest& request, ServedPaths served, std::string_view& logged_as);
  HttpResponse fault(const HttpRequest& request, std::string_view logged_as, bool transient,
                     const char* what);

  Answers answers_;
  const Ready ready_;
  RequestLog& log_;
  Outage outage_;
};

}  // namespace giftsync::daemon
