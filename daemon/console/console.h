// daemon/console: the web console (docs/design/console.md). One object serves every path below
// {admin_url}/console/: it checks the request, finds the session, and calls the page that the table of routes
// names (console_routes.h). Any thread.
#pragma once

#include <cstdint>

#include "daemon/console/console_sign_in.h"
#include "daemon/console/page_call.h"
#include "daemon/http/reply.h"

namespace giftsync::daemon::console {

class Console {
 public:
  /// The store must outlive it.
  Console(schema::store::Store& store, ConsoleOptions options);

  http::Reply handle(const http::HttpRequest& request);
  /// What a visitor sees while the store does not respond.
  http::HttpResponse unavailable(std::int64_t retry_after_seconds) const;
  /// GET {auth_url}/login/callback
  http::HttpResponse provider_reply(const http::HttpRequest& request);
  /// Deletes what has ended.
  void prune(platform::UtcMillis now);

 private:
  template <class Answer>
  http::HttpResponse guarded(const http::HttpRequest& request, const Answer& answer) const;
  http::HttpResponse answer(const http::HttpRequest& request);
  bool has_form_token(const PageCall& call) const;

  schema::store::Store& store_;
  const ConsoleOptions options_;
  const ConsoleUrl url_;
  ConsoleSignIn sign_in_;
  const PageContext context_;
};

}  // namespace giftsync::daemon::console
