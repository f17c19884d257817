// daemon/pages: handles requests for a gift's link: shows the page and processes what is posted there
// (PAGE-5, PAGE-10). A visit changes nothing and is one read of the store, of a stop link two (PAGE-21). A
// decision is one transaction; the response redirects to the page, which shows the current state, so that a
// reload or a second post has no effect. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/config/settings.h"
#include "daemon/http/http_message.h"
#include "daemon/http/reply.h"
#include "daemon/pages/gift_page.h"
#include "platform/clock.h"
#include "platform/fixed_window_limiter.h"
#include "schema/ids.h"
#include "schema/store/store.h"
#include "sync/crm/urgent_writer.h"
#include "sync/gift/gift_links.h"
#include "sync/status/status_rules.h"

namespace giftsync::pages {

// Logs what happens on a gift's page without letting the holder of one link fill the log: each
// kind of event of a gift is one line a minute, and the count of further ones follows after the minute
// (OPS-32). Any thread.

class VisitLog {
 public:
  static constexpr std::size_t kMaxGifts = 10'000;  ///< remembered at once

  enum class Event {
    visit,         ///< info
    foreign_post,  ///< warning: a decision posted from another site's page
  };

  explicit VisitLog(Clock clock) : clock_(std::move(clock)) {}
  /// Logs what is pending.
  ~VisitLog();
  VisitLog(const VisitLog&) = delete;
  VisitLog& operator=(const VisitLog&) = delete;

  /// `client`: the visitor's address.
  void record(Event event, TransactionId gift, const std::string& client);
  /// Logs the counts whose minute is over; called every few seconds.
  void flush();

 private:
  struct Window {
    UtcMillis since;
    std::size_t suppressed = 0;
    std::string last_client;
  };
  using Windows = std::map<std::pair<TransactionId, Event>, Window>;

  static void log_suppressed(const Windows::value_type& one);

  const Clock clock_;
  std::mutex mutex_;
  Windows windows_;  // guarded by mutex_
};

struct GiftPageOptions {
  std::string base_url;
  std::string language = "en";
  std::vector<config::CharitySettings> charities = {};
  std::int64_t low_code_threshold = 20;
  Clock clock = system_now;
  std::function<void()> wake_sync = [] {};
  bool has_stop_link = true;  ///< pages lead to the stop page, which also works without that (GUARD-5)
};

class GiftPageHandler {
 public:
  static constexpr std::int64_t kMaxGuesses = 20;  ///< unknown links of one client in a minute
  static constexpr std::size_t kMaxGuessers = 10'000;
  static constexpr std::size_t kMaxWarnedItems = 10'000;
  /// In an hour one gift's link allows gifts again so often.
  static constexpr std::int64_t kMaxAllowed = 10;

  GiftPageHandler(store::Store& store, sync::UrgentWriter& writer, const sync::GiftLinks& links,
                  content::Branding branding, GiftPageOptions options)
      : store_(store),
        writer_(writer),
        links_(links),
        branding_(std::move(branding)),
        options_(std::move(options)) {}

  /// The page of the token's gift; 404 for other tokens and for gifts that another system sent, 410 for a
  /// token that a newer link replaced, 429 for a client that tries many unknown tokens (PAGE-4). `rest`
  /// follows GiftLinks::kPath: a token, or the logo's name.
  http::Reply handle(const http::HttpRequest& request, std::string_view rest);

  /// What a visitor sees while the store does not respond.
  http::HttpResponse unavailable(const http::HttpRequest& request, std::int64_t retry_after_seconds) const;

  /// Logs the counts that are due; called every few seconds.
  void flush_log() { visit_log_.flush(); }

 private:
  struct PageRequest;
  http::HttpResponse unknown_link(const http::HttpRequest& request, const content::Messages& messages);
  http::Reply handle_post(const PageRequest& page_request);
  http::Reply decide(const PageRequest& page_request, Status choice, const store::TransactionEffect& effect);
  /// The page about a decision that was made or refused.
  http::HttpResponse show_decided(const PageRequest& page_request, Status choice,
                                  const sync::OutcomeResult& decided);
  http::Reply handle_stop(const PageRequest& page_request);
  http::Reply donate(const PageRequest& page_request, const std::string& charity);
  void warn_if_codes_run_low(const store::Gift& gift, bool ran_out);

  store::Store& store_;
  sync::UrgentWriter& writer_;
  const sync::GiftLinks& links_;
  const content::Branding branding_;
  const GiftPageOptions options_;
  VisitLog visit_log_{options_.clock};
  FixedWindowLimiter<std::string> guess_limiter_{kMaxGuesses, kMinuteMillis, kMaxGuessers};
  /// So a link changes the list and the audit log seldom, and a wish for no gifts is never refused (GUARD-5).
  FixedWindowLimiter<TransactionId> allow_limiter_{kMaxAllowed, kHourMillis, kMaxGuessers};
  /// One warning an hour for each item, and for whether its codes have run out.
  FixedWindowLimiter<std::pair<GiftId, bool>> warning_limiter_{1, kHourMillis, kMaxWarnedItems};
};

// Parses a page's form post and checks that it comes from this site (CSRF). Pure.

/// The fields of an application/x-www-form-urlencoded body, the first of each name; empty when the body is
/// malformed or not valid text.
std::map<std::string, std::string> form_fields(std::string_view body);

/// True when the browser reports that another site's page posts this. Requests without that information (old
/// browsers, and origin "null", which browsers send for pages without a referrer) are accepted: a post
/// requires the secret link anyway.
bool is_cross_site(const http::HttpRequest& request, std::string_view base_url);

}  // namespace giftsync::pages
