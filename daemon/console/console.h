// daemon/console: the web console (docs/design/console.md). One object serves every path below
// {admin_url}/console/: it checks the request, finds the session, and calls the page that the table of routes
// names (console_routes.h). Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/console/page_frame.h"
#include "daemon/console/request_checks.h"
#include "daemon/http/reply.h"
#include "daemon/identity/sign_in_pages.h"
#include "platform/clock.h"
#include "platform/fixed_window_limiter.h"
#include "schema/store/daemon_instances.h"
#include "schema/store/store.h"

namespace giftsync::daemon::console {

struct ConsoleOptions {
  std::string admin_url;
  config::ConsoleSettings settings = {};
  platform::Clock clock = platform::system_now;
  /// The daemons of this store.
  std::function<std::vector<schema::store::SeenDaemonInstance>()> daemons = [] {
    return std::vector<schema::store::SeenDaemonInstance>();
  };
  /// Null, both of them: people sign in by link alone (SIGN-8). They must outlive the console.
  identity::ProviderSignIn* provider_sign_in = nullptr;
  const config::SsoSettings* sso = nullptr;
};

/// Who sent a request.
struct SignedIn {
  schema::store::ConsoleSession session;
  schema::store::ConsoleUser user;
  schema::store::Viewer viewer;
};

/// A request on its way to a page.
struct PageCall {
  const http::HttpRequest& request;
  std::string parameter;  ///< of the route's {name}
  std::map<std::string, std::string> query;
  platform::UtcMillis now;
  std::optional<SignedIn> by = {};  ///< present, unless the route is open
};

class Console {
 public:
  static constexpr std::int64_t kMaxLinkSessionMillis = platform::kHourMillis;
  static constexpr std::int64_t kMaxGuesses = 20;  ///< invalid links of one client in a minute
  static constexpr std::size_t kPageRows = 50;
  static constexpr std::size_t kCsvPageRows = 500;
  static constexpr std::int64_t kMaxCsvRows = 1'000'000;

  /// The store must outlive it.
  Console(schema::store::Store& store, ConsoleOptions options);

  http::Reply handle(const http::HttpRequest& request);
  /// What a visitor sees while the store does not respond.
  http::HttpResponse unavailable(std::int64_t retry_after_seconds) const;
  /// GET {auth_url}/login/callback
  http::HttpResponse provider_reply(const http::HttpRequest& request);
  /// Deletes what has ended.
  void prune(platform::UtcMillis now);

  // The pages, called by the table of routes.
  http::HttpResponse sign_in_page(const PageCall& call);
  http::HttpResponse choose_provider(const PageCall& call);
  http::HttpResponse start_sign_in(const PageCall& call);
  http::HttpResponse finish_sign_in(const PageCall& call);
  http::HttpResponse link_page(const PageCall& call);
  http::HttpResponse sign_in_by_link(const PageCall& call);
  http::HttpResponse sign_out(const PageCall& call);
  http::HttpResponse asset_file(const PageCall& call);
  http::HttpResponse overview(const PageCall& call);
  http::HttpResponse gifts(const PageCall& call);
  http::HttpResponse gift(const PageCall& call);
  http::HttpResponse audit(const PageCall& call);
  http::HttpResponse users(const PageCall& call);
  http::HttpResponse end_sessions(const PageCall& call);

 private:
  std::unique_ptr<identity::SignInPages> make_provider_pages();
  std::string begin_session(const http::HttpRequest& request, const identity::SignedIn& signed_in);
  http::HttpResponse answer(const http::HttpRequest& request);
  std::optional<SignedIn> find_session(const http::HttpRequest& request, platform::UtcMillis now);
  std::optional<FrameUser> frame_user(const PageCall& call) const;
  http::HttpResponse page(const PageCall& call, std::string_view name, const std::string& title,
                          Data data) const;
  http::HttpResponse not_found(const PageCall& call) const;
  http::HttpResponse gifts_csv(const PageCall& call, const schema::store::ConsoleGiftFilter& filter);
  schema::store::AuditEvent event_of(const PageCall& call, const std::string& action) const;
  std::string token_of(const PageCall& call, const std::string& path) const;

  schema::store::Store& store_;
  const ConsoleOptions options_;
  const ConsoleUrl url_;
  const std::unique_ptr<identity::SignInPages> provider_pages_;  ///< null: by link alone
  platform::FixedWindowLimiter<std::string> guess_limiter_{kMaxGuesses, platform::kMinuteMillis, 10'000};
};

}  // namespace giftsync::daemon::console
