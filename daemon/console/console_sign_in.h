// daemon/console: sessions and how they begin and end: the page that says how, the sign-in at an identity
// provider, the link of `giftsyncctl console sign-in-link` or of a mail that the user asked for, and signing
// out. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/console/page_call.h"
#include "daemon/identity/sign_in_pages.h"
#include "platform/fixed_window_limiter.h"

namespace giftsync::console {

class ConsoleSignIn {
 public:
  static constexpr std::int64_t kMaxLinkSessionMillis = kHourMillis;
  static constexpr std::int64_t kMaxGuesses = 20;  ///< invalid links of one client in a minute
  // Links that are asked for by mail in ten minutes (SIGN-15):
  static constexpr std::int64_t kMaxLinksOfNetwork = 20;  ///< an office is one
  static constexpr std::int64_t kMaxLinksOfAddress = 3;
  static constexpr std::int64_t kMaxLinks = 600;  ///< of all: each is a row of the store for ten minutes

  /// All must outlive it.
  ConsoleSignIn(store::Store& store, const ConsoleOptions& options, const ConsoleUrl& url);

  /// The session of the request's cookie, if it has not ended (CON-1).
  std::optional<SignedIn> find_session(const http::HttpRequest& request, UtcMillis now);
  /// GET {auth_url}/login/callback
  http::HttpResponse provider_reply(const http::HttpRequest& request);

  http::HttpResponse sign_in_page(const PageCall& call);
  http::HttpResponse choose_provider(const PageCall& call);
  http::HttpResponse start_sign_in(const PageCall& call);
  http::HttpResponse finish_sign_in(const PageCall& call);
  http::HttpResponse link_page(const PageCall& call);
  http::HttpResponse sign_in_by_link(const PageCall& call);
  http::HttpResponse sign_out(const PageCall& call);

 private:
  std::unique_ptr<identity::SignInPages> make_provider_pages();
  /// How to sign in: `view` for the provider's form, and how to get a link.
  http::HttpResponse form_page(const http::HttpRequest& request, const identity::SignInView& view);
  /// The same answer for every address, after the same work.
  http::HttpResponse mail_link(const PageCall& call);
  /// Seconds until another link may be asked for; absent: now.
  std::optional<std::int64_t> wait_for_link(const PageCall& call);
  /// Which ways to sign in the page offers.
  void set_ways(Data& data) const;
  /// 404, with what to do about it.
  http::HttpResponse bad_link(const PageCall& call);
  std::string begin_session(const http::HttpRequest& request, const identity::SignedIn& signed_in);

  store::Store& store_;
  const ConsoleOptions& options_;
  const ConsoleUrl& url_;
  const std::unique_ptr<identity::SignInPages> provider_pages_;  ///< null: by link alone
  FixedWindowLimiter<std::string> guess_limiter_{kMaxGuesses, kMinuteMillis, 10'000};
  FixedWindowLimiter<std::string> link_network_limiter_{kMaxLinksOfNetwork, store::kMailedLinkMillis, 10'000};
  FixedWindowLimiter<std::string> link_address_limiter_{kMaxLinksOfAddress, store::kMailedLinkMillis, 10'000};
  FixedWindowLimiter<int> link_limiter_{kMaxLinks, store::kMailedLinkMillis, 1};
  FixedWindowLimiter<int> link_log_limiter_{1, store::kMailedLinkMillis, 1};
};

}  // namespace giftsync::console
