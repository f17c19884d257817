// daemon/http: dispatches a request by path and method to its handler (table in routes.cpp). The last place
// where a DependencyError becomes a response (503 with Retry-After, or 500). Any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/http_message.h"
#include "daemon/http/outage_tracker.h"
#include "daemon/http/readiness_check.h"
#include "daemon/http/refusal_log.h"
#include "daemon/http/routes.h"

namespace giftsync::daemon::http {

/// Which of the two URLs a listener serves; base_url and admin_url may have different listeners (HTTP-12).
struct ListenerScope {
  bool base = true;
  bool admin = true;
};

class Router {
 public:
  using Ready = ReadinessCheck::Ready;
  /// `handlers`: without those of the probes. `instance_id`: what /-/ready tells of the daemon, so that
  /// giftsyncctl knows it from another program at its address (OPS-26).
  Router(Handlers handlers, Ready ready, std::string instance_id, HttpRefusalLog& log,
         const platform::Clock& clock);
  /// Further lines of what /-/ready answers while the service is ready, each with its line end. Before the
  /// first request.
  void set_ready_detail(std::function<std::string()> detail) { ready_detail_ = std::move(detail); }
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Never throws. The request must live until the reply's response is made.
  Reply handle(ListenerScope scope, const HttpRequest& request) noexcept;
  /// By path, method and the form of the credential; whether it is valid, the handler says. Pure.
  RequestPlan plan(ListenerScope scope, const HttpRequest& head) const;
  /// Logs an outage that is over; called every few seconds.
  void log_outage_end() { outage_.log_if_over(); }

 private:
  HttpResponse readiness();
  struct Call;
  /// Makes the response, or that of its failure, and logs it.
  HttpResponse conclude(const Call& call, const Reply::Finish& finish) noexcept;
  HttpResponse finish_or_fail(const Call& call, const Reply::Finish& finish);
  /// Sets the call's name in the log.
  Reply route(Call& call, ListenerScope scope);
  bool has_credential(const HttpRequest& head, const RouteMatch& match) const;
  HttpResponse failure_response(const HttpRequest& request, std::string_view log_name, bool transient,
                                const char* what);

  Handlers handlers_;
  ReadinessCheck readiness_;
  const std::string instance_line_;
  std::function<std::string()> ready_detail_;
  HttpRefusalLog& log_;
  OutageTracker outage_;
};

}  // namespace giftsync::daemon::http
