// daemon/http: what a server calls for its requests: a plan once the header is there, and the handler once
// the request is complete.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "daemon/http/http_message.h"
#include "daemon/http/reply.h"

namespace giftsync::http {

/// Requests of one kind share threads and a queue; a crowd of one kind holds up no other (HTTP-48).
enum class HandlerKind {
  endpoint,
  crm,  ///< endpoints that wait for the CRM, perhaps for minutes
  page,
  console,  ///< its pages may read much
  sign_in,  ///< waits for an identity provider
  readiness,
  liveness,  ///< waits for nothing
};

/// What requests are counted by (OPS-40): groups of the paths in routes.cpp.
enum class RouteGroup {
  gift_requests,
  gifts,       ///< what keys read, and do with a gift
  validation,  ///< what the call without /validate would do
  crm,         ///< what is called from inside the CRM
  request_records,
  held_requests,
  gift_pages,
  status_changes,
  console,
  probes,
  other,
};
inline constexpr std::string_view kRouteGroupWords[] = {
    "gift_requests",  "gifts",   "validation", "crm",  "request_records", "held_requests", "gift_pages",
    "status_changes", "console", "probes",     "other"};

/// A response that a server begins to send.
struct ServedResponse {
  RouteGroup group = RouteGroup::other;
  int status = 0;
  /// Since the request was complete; nothing when it never was.
  std::optional<std::chrono::nanoseconds> took = {};
};
/// Called for each on the thread that writes for all connections: short, and does not throw.
using OnResponse = std::function<void(const ServedResponse&)>;

/// Decided on the header alone, before the body is read (HTTP-49).
struct RequestPlan {
  HandlerKind kind = HandlerKind::endpoint;
  RouteGroup group = RouteGroup::other;
  /// At most the server's own limit counts.
  std::size_t max_body_bytes = std::numeric_limits<std::size_t>::max();
  /// False: the handler refuses the request without its body, which is not awaited.
  bool reads_body = true;
  /// Whose body counts with those of others that show a credential (HTTP-50).
  bool has_credential = true;
};

class HttpHandler {
 public:
  /// Called on many threads at once; must not throw. The request lives until the response is made.
  using Handle = std::function<Reply(const HttpRequest&)>;
  /// Called with a request without its body, on the thread that reads for all connections: pure and short.
  using Plan = std::function<RequestPlan(const HttpRequest& head)>;

  HttpHandler(Handle handler, Plan planner) : handle_(std::move(handler)), plan_(std::move(planner)) {}
  /// A plain function from request to response (or Reply).
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, HttpHandler> &&
           std::is_invocable_v<Function&, const HttpRequest&>)
      HttpHandler(Function function)  // NOLINT: a function is a handler
      : HttpHandler(Handle(std::move(function)), [](const HttpRequest&) { return RequestPlan{}; }) {}

  Reply handle(const HttpRequest& request) const { return handle_(request); }
  RequestPlan plan(const HttpRequest& head) const { return plan_(head); }

 private:
  Handle handle_;
  Plan plan_;
};

}  // namespace giftsync::http
