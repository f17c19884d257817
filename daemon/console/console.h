// daemon/console: the web console (docs/design/console.md). One object serves every path below
// {admin_url}/console/: it checks the request, finds the session, and calls the page that the table of routes
// names. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/console/access.h"
#include "daemon/console/console_sign_in.h"
#include "daemon/console/page_call.h"
#include "daemon/http/reply.h"
#include "platform/fixed_window_limiter.h"

namespace giftsync::console {

// Every path of the console with its method and permission, in one table (CON-13). The test
// of the authorization matrix is made from it: a route without a line there fails. Pure.

struct ConsoleRoute {
  bool is_post = false;
  /// Below "/console/". {name} matches one segment, {name...} the rest.
  std::string_view pattern;
  Permission permission = Permission::manage_users;
  http::HttpResponse (*page)(const PageCall&) = nullptr;
  bool needs_new_proof = false;  ///< of the user (CON-45)
};

std::span<const ConsoleRoute> console_routes();

struct ConsoleMatch {
  const ConsoleRoute* route = nullptr;  ///< null: no such path
  std::string parameter = {};
  bool is_other_method = false;  ///< the path exists with the other method alone
};
/// `path` is below "/console/", decoded.
ConsoleMatch find_console_route(bool is_post, std::string_view path);
/// The page whose form posts to `path`: the longest beginning of the path that is a page (CON-56). Empty: the
/// overview. Both are below "/console/", decoded.
std::string page_of_form(std::string path);

class Console {
 public:
  static constexpr std::int64_t kMaxRefusals = 10;  ///< of one user's forms in a minute, in the audit log

  /// The store must outlive it.
  Console(store::Store& store, ConsoleOptions options);

  http::Reply handle(const http::HttpRequest& request);
  /// What a visitor sees while the store does not respond.
  http::HttpResponse unavailable(std::int64_t retry_after_seconds) const;
  /// GET {auth_url}/login/callback
  http::HttpResponse provider_reply(const http::HttpRequest& request);
  /// Deletes what has ended.
  void prune(UtcMillis now);

 private:
  template <class Answer>
  http::HttpResponse guarded(const http::HttpRequest& request, const Answer& answer) const;
  http::HttpResponse answer(const http::HttpRequest& request);
  /// Checks the form and finds the session; `route` is null when there is no such path.
  http::HttpResponse answer_as(PageCall& call, const ConsoleRoute* route);
  void record_refusal(PageCall& call, const http::HttpResponse& response);
  bool has_form_token(const PageCall& call) const;

  store::Store& store_;
  const ConsoleOptions options_;
  const ConsoleUrl url_;
  ConsoleSignIn sign_in_;
  const PageContext context_;
  FixedWindowLimiter<std::int64_t> refusals_{kMaxRefusals, kMinuteMillis, 10'000};
};

}  // namespace giftsync::console
