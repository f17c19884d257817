// daemon/identity: the HTTP side of the sign-in (SIGN-1 to SIGN-7): the e-mail form, the redirect to the
// provider, its reply at {auth_url}/login/callback, and the browser's return. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/http/http_message.h"
#include "daemon/identity/provider_sign_in.h"
#include "platform/clock.h"
#include "platform/fixed_window_limiter.h"

namespace giftsync::identity {

/// What the sign-in page shows.
struct SignInView {
  std::string return_path = {};
  std::string email = {};       ///< as it was entered; empty at first
  bool is_refused = false;      ///< a sign-in failed; the page never says why
  bool is_unavailable = false;  ///< the provider does not respond
  bool is_unknown = false;      ///< no connection has the address's domain
  /// Not empty: a link there begins the sign-in that the provider began by itself (SIGN-9).
  std::string offered_path = {};  ///< below the console's path
  /// Not empty: the page goes on there by itself (with a Refresh header) and has a link to it. A redirect
  /// would need the provider's origin in the policy for forms.
  std::string start_path = {};  ///< below the console's path
};

struct SignInPageOptions {
  std::string admin_url;  ///< without a slash at its end
  Clock clock;
  std::function<http::HttpResponse(const http::HttpRequest&, const SignInView&)> render;
  /// Begins the session and returns the value of its Set-Cookie header; empty when the user may not.
  std::function<std::string(const http::HttpRequest&, const SignedIn&)> begin_session;
};

class SignInPages {
 public:
  static constexpr std::int64_t kMaxRequestsPerMinute = 120;  ///< of each network: an office is one
  // Each start is a row of the store until it is too old (SIGN-13).
  static constexpr std::int64_t kMaxStartsPerMinute = 120;       ///< of each IPv6 /48
  static constexpr std::int64_t kMaxAllStartsPerMinute = 3'000;  ///< of all networks together

  /// `sso` and `sign_in` must outlive it.
  SignInPages(const config::SsoSettings& sso, ProviderSignIn& sign_in, SignInPageOptions options);

  /// GET {admin_url}/console/sign-in: the form. POST: finds the connection of the address.
  http::HttpResponse form(const http::HttpRequest& request);
  /// GET {admin_url}/console/sign-in/start?connection=NAME&return=PATH; with again=1 the user must prove
  /// again who they are.
  http::HttpResponse start(const http::HttpRequest& request);
  /// GET {auth_url}/login/callback: an OpenID provider's reply. POST: a SAML provider's, from its own page,
  /// so that neither Origin nor form token tell anything: the browser's cookie in finish() does.
  http::HttpResponse callback(const http::HttpRequest& request);
  /// GET {admin_url}/console/sign-in/finish?attempt=ID
  http::HttpResponse finish(const http::HttpRequest& request);

 private:
  bool is_over_limit(const http::HttpRequest& request);
  bool is_over_start_limit(const http::HttpRequest& request);
  http::HttpResponse redirect(const std::string& url) const;
  http::HttpResponse refuse(const http::HttpRequest& request, const SignInRefusal& refusal);
  Outcome<std::string> complete(const http::HttpRequest& request);
  std::string attempt_cookie(const std::string& value) const;

  const config::SsoSettings& sso_;
  ProviderSignIn& sign_in_;
  const SignInPageOptions options_;
  const bool is_secure_;    ///< admin_url is https
  const std::string base_;  ///< the console's path: "/console"
  const std::string cookie_path_;
  const std::string cookie_name_;
  FixedWindowLimiter<std::string> limiter_{kMaxRequestsPerMinute, kMinuteMillis, 10'000};
  FixedWindowLimiter<std::string> start_limiter_{kMaxStartsPerMinute, kMinuteMillis, 10'000};
  FixedWindowLimiter<int> all_starts_limiter_{kMaxAllStartsPerMinute, kMinuteMillis, 1};
  FixedWindowLimiter<std::string> log_limiter_{20, kMinuteMillis, 1'000};
};

// The page to which a sign-in returns (SIGN-2), for every way of signing in. Pure.

/// `text` if it is a path below `base` ("/console", or "/gifts/console" where admin_url has a path) with at
/// most 500 bytes, with or without a query, else the console's first page. The path has letters, digits,
/// "-_~./", no "//" and no segment that begins with a dot; other characters are escaped, and an escape is not
/// that of a slash, backslash, dot, percent sign or control character, so that nothing that decodes it
/// reads another path. The query has visible ASCII characters except \ # " < >. There is no fragment. So no
/// link can lead a user to another site by way of the sign-in.
std::string safe_return_path(std::string_view base, std::string_view text);

}  // namespace giftsync::identity
