#include "daemon/identity/sign_in_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "daemon/signin/home_realm.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/ip_address.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "platform/url_parameters.h"

namespace giftsync::identity {
namespace {

constexpr std::string_view kSignInPath = "/console/sign-in";  ///< below admin_url
constexpr std::size_t kMaxFormBytes = 4096;

/// The parameters of a query or form; empty when it is longer than any of these pages sends.
std::map<std::string, std::string> parameters_of(std::string_view text) {
  if (text.size() > kMaxFormBytes) return {};
  return first_url_parameters(text);
}

/// "/gifts" of "https://example.com/gifts"; empty without a path.
std::string path_of(const std::string& url) {
  const std::size_t host = url.find("://");
  const std::size_t slash = host == std::string::npos ? host : url.find('/', host + 3);
  return slash == std::string::npos ? std::string() : url.substr(slash);
}

RequestOrigin origin_of(const http::HttpRequest& request) {
  return {request.request_id, rate_limit_prefix(request.client)};
}

/// The IPv6 /48, of whose networks one client may have all; the address for IPv4.
std::string site_of(const std::string& client) {
  constexpr std::size_t kSiteBytes = 6;
  auto address = parse_ip_address(client);
  if (!address) return client;
  if (!address->is_v4())
    std::fill(address->octets.begin() + kSiteBytes, address->octets.end(), std::uint8_t{0});
  return address->text();
}

http::HttpResponse too_many() {
  return http::with_retry_after(http::text_response(429, "text/plain", "Too many sign-ins; wait a minute.\n"),
                                60);
}

}  // namespace

SignInPages::SignInPages(const config::SsoSettings& sso, ProviderSignIn& sign_in, SignInPageOptions options)
    : sso_(sso),
      sign_in_(sign_in),
      options_(std::move(options)),
      is_secure_(ascii_lower(options_.admin_url).starts_with("https:")),
      base_(path_of(options_.admin_url) + "/console"),
      cookie_path_(path_of(options_.admin_url) + "/"),
      cookie_name_((!is_secure_           ? ""
                    : cookie_path_ == "/" ? "__Host-"
                                          : "__Secure-") +
                   std::string("giftsync_signin")) {}

bool SignInPages::is_over_limit(const http::HttpRequest& request) {
  return limiter_.count(rate_limit_prefix(request.client), options_.clock()).is_exceeded;
}

bool SignInPages::is_over_start_limit(const http::HttpRequest& request) {
  const UtcMillis now = options_.clock();
  if (start_limiter_.count(site_of(request.client), now).is_exceeded) return true;
  if (!all_starts_limiter_.count(0, now).is_exceeded) return false;
  if (!log_limiter_.count("SIGN-13", now).is_exceeded)
    log_event(LogEvent::sign_ins_limited,
              fmt::format("sign-ins are refused: {} have begun within a minute", kMaxAllStartsPerMinute));
  return true;
}

http::HttpResponse SignInPages::redirect(const std::string& url) const {
  http::HttpResponse response = http::text_response(303, "text/plain", "");
  response = http::with_header(std::move(response), "Location", url);
  // The URL of a reply has a code in it.
  return http::with_header(std::move(response), "Referrer-Policy", "no-referrer");
}

/// Every refusal looks the same, but for a provider that does not respond, since waiting helps then, and for
/// a person whom the provider knows and who has no role (SIGN-6).
http::HttpResponse SignInPages::refuse(const http::HttpRequest& request, const SignInRefusal& refusal) {
  if (!log_limiter_.count(refusal.rule, options_.clock()).is_exceeded)
    log_event(LogEvent::sign_in_refused,
              fmt::format("a sign-in was refused by {}: {}", refusal.rule, refusal.text),
              {LogField("request_id", request.request_id).not_in_text()});
  return redirect(options_.admin_url + std::string(kSignInPath) + "?" +
                  (!refusal.offered_connection.empty() ? "begin=" + refusal.offered_connection
                   : refusal.is_unavailable            ? "unavailable=1"
                   : refusal.has_no_role               ? "no_role=1"
                                                       : "refused=1"));
}

/// Empty: the browser deletes it.
std::string SignInPages::attempt_cookie(const std::string& value) const {
  return cookie_name_ + "=" + value + "; Path=" + cookie_path_ +
         "; Max-Age=" + std::to_string(value.empty() ? 0 : kAttemptMillis / kSecondMillis) +
         "; HttpOnly; SameSite=Lax" + (is_secure_ ? "; Secure" : "");
}

http::HttpResponse SignInPages::form(const http::HttpRequest& request) {
  const bool is_post = request.method == "POST";
  if (is_post && is_over_limit(request)) return too_many();
  auto given = parameters_of(is_post ? request.body : request.query);
  SignInView view{.return_path = safe_return_path(base_, given["return"]), .email = given["email"]};
  if (!is_post) {
    view.is_refused = given.contains("refused");
    view.is_unavailable = given.contains("unavailable");
    if (const auto* one = signin::find_by_name(sso_, given["begin"]); one != nullptr)
      view.offered_path = "/sign-in/start?connection=" + one->name;
    return options_.render(request, view);
  }
  const config::SsoConnectionSettings* connection = signin::find_connection(sso_, view.email);
  view.is_unknown = connection == nullptr;
  if (connection != nullptr) {
    view.start_path =
        "/sign-in/start?connection=" + connection->name + "&return=" + percent_encoded(view.return_path);
  }
  http::HttpResponse response = options_.render(request, view);
  if (view.start_path.empty()) return response;
  return http::with_header(std::move(response), "Refresh", "0; url=" + base_ + view.start_path);
}

http::HttpResponse SignInPages::start(const http::HttpRequest& request) {
  if (is_over_limit(request) || is_over_start_limit(request)) return too_many();
  auto given = parameters_of(request.query);
  const auto started = sign_in_.begin(given["connection"], safe_return_path(base_, given["return"]),
                                      given["again"] == "1", options_.clock());
  if (!started) return refuse(request, started.error());
  return http::with_header(redirect(started->provider_url), "Set-Cookie",
                           attempt_cookie(started->browser_token));
}

http::HttpResponse SignInPages::callback(const http::HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD" && request.method != "POST")
    return http::method_not_allowed({"GET", "HEAD", "POST"});
  if (is_over_limit(request)) return too_many();
  const auto attempt = complete(request);
  if (!attempt) return refuse(request, attempt.error());
  return redirect(options_.admin_url + std::string(kSignInPath) +
                  "/finish?attempt=" + percent_encoded(*attempt));
}

Outcome<std::string> SignInPages::complete(const http::HttpRequest& request) {
  const RequestOrigin origin = origin_of(request);
  if (request.method != "POST") return sign_in_.complete(request.query, origin, options_.clock());
  if (!http::is_form(request) || request.body_too_large)
    return identity::refuse("SIGN-9", "The posted response is no form, or too large.");
  return sign_in_.complete_posted(request.query, request.body, origin, options_.clock());
}

http::HttpResponse SignInPages::finish(const http::HttpRequest& request) {
  if (is_over_limit(request)) return too_many();
  auto given = parameters_of(request.query);
  const auto signed_in =
      sign_in_.finish(given["attempt"], http::cookie_of(request, cookie_name_).value_or(""),
                      origin_of(request), options_.clock());
  if (!signed_in) return refuse(request, signed_in.error());
  const std::string session_cookie = options_.begin_session(request, *signed_in);
  if (session_cookie.empty()) return refuse(request, {"SIGN-5", "The user was deactivated meanwhile."});
  http::HttpResponse response = redirect(signed_in->return_path);
  response = http::with_header(std::move(response), "Set-Cookie", session_cookie);
  return http::with_header(std::move(response), "Set-Cookie", attempt_cookie(""));
}

namespace {

constexpr std::size_t kMaxBytes = 500;

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

/// Whether the text begins with the escape of a character that may be in a name.
bool begins_with_harmless_escape(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return false;
  const auto bytes = from_hex(text.substr(1, 2));
  if (!bytes) return false;
  const auto byte = static_cast<unsigned char>(bytes->front());
  return byte >= ' ' && byte != 0x7f && byte != '/' && byte != '\\' && byte != '.' && byte != '%';
}

bool is_path(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const bool is_escape = begins_with_harmless_escape(text.substr(i));
    if (!is_escape && !is_path_character(text[i])) return false;
    i += is_escape ? 3 : 1;
  }
  return text.find("//") == std::string_view::npos && text.find("/.") == std::string_view::npos;
}

bool is_query_character(char c) {
  return c > ' ' && c < '\x7f' && c != '\\' && c != '#' && c != '"' && c != '<' && c != '>';
}

}  // namespace

std::string safe_return_path(std::string_view base, std::string_view text) {
  const std::string first_page = std::string(base) + "/";
  const std::size_t question = std::min(text.find('?'), text.size());
  const std::string_view path = text.substr(0, question);
  const std::string_view query = text.substr(question);
  const bool is_safe = text.size() <= kMaxBytes && path.starts_with(first_page) && is_path(path) &&
                       std::all_of(query.begin(), query.end(), is_query_character);
  return is_safe ? std::string(text) : first_page;
}

}  // namespace giftsync::identity
