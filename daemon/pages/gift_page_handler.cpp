#include "daemon/pages/gift_page_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "daemon/http/problem.h"
#include "daemon/pages/stop_page.h"
#include "platform/ip_address.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "platform/url_parameters.h"
#include "schema/store/gift/erased_address.h"
#include "sync/gift/gift_actions.h"
#include "sync/gift/gift_event.h"

namespace giftsync::pages {

namespace {

/// `count`: 0 for a single event.
void log(VisitLog::Event event, TransactionId gift, const std::string& client, std::size_t count) {
  std::vector<LogField> fields{gift_field(gift.value), {"client", client}};
  if (count > 0) fields.push_back({"more_in_a_minute", static_cast<std::int64_t>(count)});
  if (event == VisitLog::Event::visit)
    log_event(LogEvent::page_opened, "gift page opened in a browser", fields);
  else
    log_event(LogEvent::foreign_decision_refused, "a decision posted from another site's page was refused",
              fields);
}

}  // namespace

VisitLog::~VisitLog() {
  for (const auto& window : windows_) log_suppressed(window);
}

void VisitLog::record(Event event, TransactionId gift, const std::string& client) {
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  if (windows_.size() >= kMaxGifts && !windows_.contains({gift, event})) {
    for (const auto& one : windows_) log_suppressed(one);
    windows_.clear();
  }
  const auto [window, is_new] = windows_.try_emplace({gift, event}, Window{now, 0, {}});
  if (!is_new) {
    ++window->second.suppressed;
    window->second.last_client = client;
    return;
  }
  log(event, gift, client, 0);
}

void VisitLog::flush() {
  const UtcMillis now = clock_();
  const std::lock_guard lock(mutex_);
  std::erase_if(windows_, [now](const auto& one) {
    if (!has_elapsed(one.second.since, kMinuteMillis, now)) return false;
    log_suppressed(one);
    return true;
  });
}

void VisitLog::log_suppressed(const Windows::value_type& one) {
  const auto& [gift, event] = one.first;
  if (one.second.suppressed > 0) log(event, gift, one.second.last_client, one.second.suppressed);
}

namespace {

/// Prefix of the logo's name: no token contains a slash.
constexpr std::string_view kAssets = "-/";
constexpr std::int64_t kOverloadRetrySeconds = 1;
/// What the page of an accepted test gift shows as its code (TEST-5).
constexpr const char* kTestCode = "TEST-CODE";

/// 303 to the page itself. Relative, so that it works behind any proxy.
http::HttpResponse redirect_to_page(std::string_view token, std::string_view query) {
  return http::with_header({303, private_headers(), {}}, "Location",
                           std::string(token) + (query.empty() ? "" : "?") + std::string(query));
}

http::HttpResponse logo_response(const content::Logo& logo) {
  return {200,
          {{"Content-Type", logo.type},
           {"Cache-Control", "public, max-age=31536000, immutable"},
           {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"},
           {"X-Content-Type-Options", "nosniff"}},
          logo.bytes};
}

/// True when a newer link has replaced the one that was opened.
bool is_superseded(store::Store& store, const store::RecipientTransaction& seen) {
  const std::vector<store::Gift> found = store.gifts.find(std::span(&seen.id, 1));
  return found.empty() || found.front().transaction.generation != seen.generation;
}

/// Of a line about what a recipient did with the gift; text has only the first two.
std::vector<LogField> fields_of(const store::Gift& gift, const std::string& client) {
  return {gift_field(gift.transaction.id.value),
          {"client", client},
          LogField("request", gift.request.id.value).not_in_text(),
          LogField("request_id", gift.request.http_request_id).not_in_text()};
}

bool is_read(const http::HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

/// A post whose gift was found. It may be copied for a reply that is made later: what it refers to lives
/// as long as the request.
struct GiftPageHandler::PageRequest {
  const http::HttpRequest& request;
  std::string_view token;
  sync::LinkKind kind;
  store::Gift gift;
  const content::Messages& messages;
};

http::Reply GiftPageHandler::handle(const http::HttpRequest& request, std::string_view rest) {
  if (!is_read(request) && request.method != "POST") return http::method_not_allowed({"GET", "HEAD", "POST"});
  if (branding_.logo && rest == std::string(kAssets) + branding_.logo->name)
    return is_read(request) ? logo_response(*branding_.logo) : http::method_not_allowed({"GET", "HEAD"});
  const content::Messages& messages =
      content::messages_for(request.header("Accept-Language").value_or(""), options_.language);
  const std::optional<sync::LinkPayload> payload = links_.verify(rest, options_.clock());
  if (!payload) return unknown_link(request, messages);
  std::optional<store::PageView> view = store_.page_views.find(payload->transaction);
  if (!view) return unknown_link_page(messages, branding_);
  if (view->gift.request.is_test) view->code = kTestCode;
  const store::Gift& gift = view->gift;
  if (!gift.transaction.gift_source.empty())
    return unknown_link_page(messages, branding_);  // another system sent it
  if (payload->kind == sync::LinkKind::stop && store::is_erased_address(gift.transaction.email)) {
    const auto entries = store_.do_not_send.find(std::span(&gift.transaction.email, 1), options_.clock());
    return erased_person_page(!entries.empty(), messages, branding_);
  }
  // The CRM's record keeps its view link for good, so an older one stays and shows nothing of the recipient.
  const bool is_current = links_.is_current(*payload, gift.transaction);
  if (!is_current && payload->kind == sync::LinkKind::stop) return former_address_page(messages, branding_);
  if (!is_current && payload->kind != sync::LinkKind::view) return superseded_link_page(messages, branding_);
  if (!is_read(request)) return handle_post({request, rest, payload->kind, gift, messages});
  visit_log_.record(VisitLog::Event::visit, gift.transaction.id, request.client);
  if (payload->kind == sync::LinkKind::stop) {
    return stop_page(stop_state(store_.do_not_send, gift, options_.clock()), gift.transaction.email, messages,
                     branding_);
  }
  const PageVisit visit{payload->kind, !is_current, request.query, options_.clock(), options_.has_stop_link};
  return gift_page(page_model(*view, visit, links_, options_.charities), messages, branding_);
}

http::HttpResponse GiftPageHandler::unavailable(const http::HttpRequest& request,
                                                std::int64_t retry_after_seconds) const {
  const content::Messages& messages =
      content::messages_for(request.header("Accept-Language").value_or(""), options_.language);
  return unavailable_page(messages, branding_, retry_after_seconds);
}

http::HttpResponse GiftPageHandler::unknown_link(const http::HttpRequest& request,
                                                 const content::Messages& messages) {
  const auto guesses = guess_limiter_.count(rate_limit_prefix(request.client), options_.clock());
  return guesses.is_exceeded ? rate_limited_page(messages, branding_, guesses.reset_seconds)
                             : unknown_link_page(messages, branding_);
}

http::Reply GiftPageHandler::handle_post(const PageRequest& page_request) {
  if (page_request.kind == sync::LinkKind::view) return http::method_not_allowed({"GET", "HEAD"});
  if (is_cross_site(page_request.request, options_.base_url)) {
    visit_log_.record(VisitLog::Event::foreign_post, page_request.gift.transaction.id,
                      page_request.request.client);
    return cross_site_page(page_request.messages, branding_,
                           links_.url_for(page_request.kind, page_request.gift.transaction));
  }
  if (page_request.kind == sync::LinkKind::stop) return handle_stop(page_request);
  const auto fields = form_fields(page_request.request.body);
  const auto field = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  const std::string choice = field("choice");
  const TransactionId id = page_request.gift.transaction.id;
  const UtcMillis now = options_.clock();
  if (choice == "opened") {
    const auto respond = [this](store::ConditionalOutcome outcome) -> http::HttpResponse {
      if (outcome == store::ConditionalOutcome::accepted) options_.wake_sync();
      return {204, private_headers(), {}};
    };
    return http::reply_when_written<store::ConditionalOutcome>(
        writer_, sync::opened_decision(id, now), respond,
        [this, page_request] { return unavailable(page_request.request, kOverloadRetrySeconds); });
  }
  if (choice == "accept" && page_request.kind == sync::LinkKind::redeem)
    return decide(page_request, Status::redeemed,
                  page_request.gift.request.is_test
                      ? store::TransactionEffect()  // the codes are for recipients (TEST-5)
                      : store_.codes.assign_code(page_request.gift.request.gift, id, now));
  if (choice == "donate" && page_request.kind == sync::LinkKind::donate)
    return donate(page_request, field("charity"));
  return redirect_to_page(page_request.token, "");
}

http::Reply GiftPageHandler::handle_stop(const PageRequest& page_request) {
  const store::RecipientTransaction& gift = page_request.gift.transaction;
  const std::vector<LogField> fields = fields_of(page_request.gift, page_request.request.client);
  const UtcMillis now = options_.clock();
  const StopRequest asked = stop_request(page_request.request.body);
  if (page_request.gift.request.is_test) {
    // The tester's own click concerns no gift that is sent (TEST-2).
  } else if (asked == StopRequest::allow) {
    const auto count = allow_limiter_.count(gift.id, now);
    if (count.is_exceeded) return changed_often_page(page_request.messages, branding_, count.reset_seconds);
    if (may_allow_again(page_request.gift) && allow_again(store_.do_not_send, gift, now))
      log_event(LogEvent::recipient_opted_in, "recipient allows gifts again", fields);
  } else if (asked != StopRequest::none) {
    if (opt_out(store_.do_not_send, gift, now))
      log_event(LogEvent::recipient_opted_out, "recipient wants no gifts", fields);
  }
  // A mailbox provider follows no redirect.
  if (asked == StopRequest::one_click) return http::HttpResponse{200, private_headers(), {}};
  return redirect_to_page(page_request.token, "");
}

http::Reply GiftPageHandler::donate(const PageRequest& page_request, const std::string& charity) {
  store::Donation donation;
  if (!options_.charities.empty()) {
    const auto chosen =
        std::find_if(options_.charities.begin(), options_.charities.end(),
                     [&](const config::CharitySettings& settings) { return settings.name == charity; });
    if (chosen == options_.charities.end()) return redirect_to_page(page_request.token, kCharityMissing);
    donation = {chosen->name, chosen->link};
  }
  return decide(page_request, Status::donated,
                store_.donations.record_effect(page_request.gift.transaction.id, donation));
}

http::Reply GiftPageHandler::decide(const PageRequest& page_request, Status choice,
                                    const store::TransactionEffect& effect) {
  const TransactionId id = page_request.gift.transaction.id;
  const sync::PendingOutcome pending = sync::redeem_or_donate_decision(
      store_.changes, id, choice, options_.clock(),
      store::LifecycleStore::require_current_link_effect(page_request.gift.transaction).and_then(effect));
  return http::reply_when_written<store::ConditionalOutcome>(
      writer_, pending.decision(),
      [this, page_request, choice, pending](store::ConditionalOutcome outcome) {
        return show_decided(page_request, choice, pending.result(outcome));
      },
      [this, page_request] { return unavailable(page_request.request, kOverloadRetrySeconds); });
}

http::HttpResponse GiftPageHandler::show_decided(const PageRequest& page_request, Status choice,
                                                 const sync::OutcomeResult& decided) {
  if (decided.outcome == store::ConditionalOutcome::effect_unavailable) {
    if (is_superseded(store_, page_request.gift.transaction)) return redirect_to_page(page_request.token, "");
    warn_if_codes_run_low(page_request.gift, true);
    return redirect_to_page(page_request.token, kOutOfCodes);
  }
  if (decided.outcome == store::ConditionalOutcome::accepted) {
    const std::vector<LogField> fields = fields_of(page_request.gift, page_request.request.client);
    if (choice == Status::redeemed)
      log_event(LogEvent::gift_accepted, "gift accepted on its page", fields);
    else
      log_event(LogEvent::gift_donated, "gift donated on its page", fields);
    options_.wake_sync();
    if (choice == Status::redeemed) warn_if_codes_run_low(page_request.gift, false);
  }
  return redirect_to_page(page_request.token, decided.state.status == choice ? kThanks : "");
}

/// Warns once an hour for each item whose codes are low.
void GiftPageHandler::warn_if_codes_run_low(const store::Gift& gift, bool ran_out) {
  const GiftId item = gift.request.gift;
  if (!ran_out && !store_.codes.find_code(gift.transaction.id)) return;
  const std::int64_t codes_left = store_.codes.count_unassigned(item, options_.low_code_threshold + 1);
  if (!ran_out && codes_left > options_.low_code_threshold) return;
  if (warning_limiter_.count({item, ran_out}, options_.clock()).is_exceeded) return;
  if (ran_out) {
    LogLine line = sync::gift_line(
        LogEvent::codes_exhausted, gift,
        fmt::format("no code could be issued, item {} has no codes left; the gift stays valid; import codes "
                    "with \"giftsyncctl item codes import {} FILE.csv\"",
                    item.value, item.value));
    line.fields.push_back(LogField("item", item.value).not_in_text());
    log_event(line);
  } else {
    log_event(LogEvent::codes_low,
              fmt::format(
                  "item {} has {} codes left; import more with \"giftsyncctl item codes import {} FILE.csv\"",
                  item.value, codes_left, item.value),
              {LogField("item", item.value).not_in_text()});
  }
}

namespace {

constexpr std::size_t kMaxFormBytes = 16 * 1024;

/// "https://gifts.example.com" of "https://gifts.example.com/g".
std::string_view origin_of(std::string_view url) {
  const std::size_t begin = url.find("://");
  return begin == std::string_view::npos ? url : url.substr(0, url.find('/', begin + 3));
}

std::string_view host_of(std::string_view origin) {
  const std::size_t begin = origin.find("://");
  return begin == std::string_view::npos ? std::string_view() : origin.substr(begin + 3);
}

}  // namespace

std::map<std::string, std::string> form_fields(std::string_view body) {
  if (body.size() > kMaxFormBytes) return {};
  return first_url_parameters(body);
}

bool is_cross_site(const http::HttpRequest& request, std::string_view base_url) {
  if (const auto fetch_site = request.header("Sec-Fetch-Site"))
    return *fetch_site != "same-origin" && *fetch_site != "none";
  const auto origin = request.header("Origin");
  if (!origin || *origin == "null") return false;
  if (ascii_lower(*origin) == ascii_lower(origin_of(base_url))) return false;
  const auto host = request.header("Host");
  return !host || ascii_lower(host_of(*origin)) != ascii_lower(*host);
}

}  // namespace giftsync::pages
