#include "daemon/console/console_sign_in.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "daemon/http/json_request.h"
#include "platform/digest.h"
#include "platform/ip_address.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "platform/url_parameters.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"

namespace giftsync::console {
namespace {

constexpr std::int64_t kLastSeenMillis = kMinuteMillis;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kMaxAgentCodePoints = 200;

std::string hash_of(const std::string& secret) {
  return sha256_hex(secret);
}

/// The hash of the session that the browser had before; empty without a cookie.
std::string former_hash(const http::HttpRequest& request, const ConsoleUrl& url) {
  const auto former = http::cookie_of(request, url.cookie_name);
  return former ? hash_of(*former) : std::string();
}

std::string agent_of(const http::HttpRequest& request) {
  const std::string agent = visible_text(request.header("User-Agent").value_or(""));
  return std::string(truncated(agent, kMaxAgentCodePoints));
}

/// A session for the browser that sent the request, with a form secret. The caller sets whose it is and when
/// it ends.
store::ConsoleSession new_session(const http::HttpRequest& request, const std::string& cookie,
                                  UtcMillis now) {
  store::ConsoleSession session;
  session.id_hash = hash_of(cookie);
  session.form_secret = random_hex(kSecretBytes);
  session.created_at = session.last_seen_at = session.authenticated_at = now;
  session.agent = agent_of(request);
  session.network = rate_limit_prefix(request.client);
  return session;
}

/// An account that was deactivated, or belongs to another organization, gives its owner nothing to see.
bool is_usable_by(const store::Account& account, const store::ConsoleUser& user) {
  return account.active &&
         (!user.organization || !account.organization || account.organization == user.organization);
}

/// The page that the browser wanted before signing in, else the first one (SIGN-12).
std::string wanted_page(const http::HttpRequest& request, const ConsoleUrl& url) {
  const auto wanted = http::cookie_of(request, short_cookie_name(url, kReturnCookie));
  return identity::safe_return_path(url.base, wanted ? from_base64url(*wanted).value_or("") : "");
}

/// Deletes the cookie that wanted_page() reads, if the browser has it.
void forget_wanted_page(const http::HttpRequest& request, const ConsoleUrl& url,
                        http::HttpResponse& response) {
  if (http::cookie_of(request, short_cookie_name(url, kReturnCookie)))
    response.headers.emplace_back("Set-Cookie", set_short_cookie(url, kReturnCookie, "", 0));
}

/// Why the browser comes to the sign-in page, as its URL says: without a session nothing could prove it.
std::string reason_text(const http::HttpRequest& request) {
  const auto query = first_url_parameters(request.query);
  if (query.contains("ended")) return texts().text("sign_in_ended");
  return query.contains("signed_out") ? texts().text("signed_out") : std::string();
}

/// With these in its query the sign-in page is shown to a browser with a session, too.
constexpr std::array kWithSession{"refused", "unavailable", "no_role", "asked", "again"};

/// Which owners of accounts may use a provider (SIGN-5), a sentence; empty: all.
std::string plans_text(const std::vector<std::string>& plans) {
  constexpr std::size_t kAllPlans = 4;
  if (plans.size() == kAllPlans) return {};
  if (plans.empty()) return texts().text("sign_in_no_plans");
  std::vector<std::string> names = plans;
  for (std::string& name : names) std::replace(name.begin(), name.end(), '_', ' ');
  return texts().text("sign_in_plans", {{"plans", fmt::format("{}", fmt::join(names, " or "))}});
}

/// "request R-1" of "/console/requests/R-1", else the path as "gifts"; a query may name a recipient. Empty
/// for the first page.
std::string page_text(const ConsoleUrl& url, const std::string& return_path) {
  const std::string path = return_path.substr(std::min(return_path.size(), url.base.size() + 1));
  const std::string page = path.substr(0, path.find('?'));
  const std::size_t end = page.find("s/");
  const bool is_of_list =
      end != std::string::npos && page.find('/') == end + 1 && page.find('/', end + 2) == std::string::npos;
  return is_of_list ? page.substr(0, end) + " " + page.substr(end + 2) : page;
}

/// What is wrong with an address that no connection has.
std::string unknown_text(const std::string& email) {
  if (email_error(trimmed(email))) return texts().text("mail_link_invalid");
  return texts().text("sign_in_unknown", {{"domain", email.substr(email.rfind('@') + 1)}});
}

Data sign_in_data(const ConsoleUrl& url, const identity::SignInView& view) {
  Data data;
  if (const std::string page = page_text(url, view.return_path); !page.empty())
    data.set("comes_back", texts().text("sign_in_return", {{"page", page}}));
  data.set("return_path", view.return_path);
  data.set("email", view.email);
  data.set("refused", view.is_refused);
  data.set("unavailable", view.is_unavailable);
  if (view.is_unknown) data.set("fault", unknown_text(view.email));
  data.set("start", url.base + view.start_path);
  data.set("goes_on", !view.start_path.empty());
  data.set("offered", url.base + view.offered_path);
  data.set("offers", !view.offered_path.empty());
  data.set("has_way", !view.start_path.empty() || !view.offered_path.empty());
  return data;
}

}  // namespace

ConsoleSignIn::ConsoleSignIn(store::Store& store, const ConsoleOptions& options, const ConsoleUrl& url)
    : store_(store), options_(options), url_(url), provider_pages_(make_provider_pages()) {}

std::optional<SignedIn> ConsoleSignIn::find_session(const http::HttpRequest& request, UtcMillis now) {
  const auto cookie = http::cookie_of(request, url_.cookie_name);
  if (!cookie || cookie->empty()) return std::nullopt;
  const std::string hash = hash_of(*cookie);
  const std::int64_t idle_millis = options_.settings.idle_minutes * kMinuteMillis;
  const auto session = store_.console_sessions.find(hash, now, now - idle_millis);
  if (!session) return std::nullopt;
  const auto user = store_.console_users.find(session->user);
  if (!user) return std::nullopt;
  if (session->last_seen_at + kLastSeenMillis < now) store_.console_sessions.set_last_seen(hash, now);
  SignedIn by{*session, *user, {user->id, {}, user->organization, user->role_set()}};
  const auto account = store_.accounts.find_by_email(user->email);
  if (account && is_usable_by(*account, *user)) by.viewer.account = account->id;
  return by;
}

http::HttpResponse ConsoleSignIn::sign_in_page(const PageCall& call) {
  const std::string return_path = identity::safe_return_path(url_.base, field(call.query, "return"));
  // A new sign-in may be refused while the former session goes on (CON-45).
  const bool goes_on = std::any_of(kWithSession.begin(), kWithSession.end(),
                                   [&](const char* name) { return call.query.contains(name); });
  if (!goes_on && find_session(call.request, call.now)) return redirect(return_path);
  http::HttpResponse response = provider_pages_ ? provider_pages_->form(call.request)
                                                : form_page(call.request, {.return_path = return_path});
  if (return_path == url_.base + "/") return response;
  return with_return_to(url_, std::move(response), return_path);
}

http::HttpResponse ConsoleSignIn::form_page(const http::HttpRequest& request,
                                            const identity::SignInView& view) {
  Data data = sign_in_data(url_, view);
  const auto query = first_url_parameters(request.query);
  const auto by = find_session(request, options_.clock());
  // The user of the session gives a new proof (CON-45).
  const bool is_again = by && query.contains("again");
  if (is_again && view.email.empty()) data.set("email", by->user.email);
  set_ways(data);
  data.set("has_session", by && !is_again && !query.contains("asked"));
  data.set("asked", query.contains("asked"));
  data.set("no_role", query.contains("no_role"));
  data.set("mail_paused", options_.link_token && store_.mail_pauses.state().pause.has_value());
  data.set("is_helped", view.is_unknown && !options_.link_token);
  set_text(data, "reason", reason_text(request));
  return render(url_, {"sign_in", texts().text("sign_in"), {}, 200}, std::move(data));
}

void ConsoleSignIn::set_ways(Data& data) const {
  const bool is_by_provider = provider_pages_ != nullptr;
  const bool is_by_mail = static_cast<bool>(options_.link_token);
  data.set("by_provider", is_by_provider);
  data.set("by_mail", is_by_mail);
  data.set("has_form", is_by_provider || is_by_mail);
  data.set("needs_link", is_by_provider && !is_by_mail);
  if (is_by_provider) set_text(data, "plans", plans_text(options_.settings.sso_plans));
}

std::optional<std::int64_t> ConsoleSignIn::wait_for_link(const PageCall& call) {
  const auto of_network = link_network_limiter_.count(rate_limit_prefix(call.request.client), call.now);
  if (of_network.is_exceeded) return of_network.reset_seconds;
  const auto of_all = link_limiter_.count(0, call.now);
  if (!of_all.is_exceeded) return std::nullopt;
  if (!link_log_limiter_.count(0, call.now).is_exceeded)
    log_event(
        LogEvent::sign_ins_limited,
        fmt::format("sign-in links by mail are refused: {} were asked for within ten minutes", kMaxLinks));
  return of_all.reset_seconds;
}

http::HttpResponse ConsoleSignIn::mail_link(const PageCall& call) {
  if (const auto seconds = wait_for_link(call))
    return http::with_retry_after(notice(url_, 429, "too_many", "too_many_links_text"), *seconds);
  const std::string email(trimmed(field(call.form, "email")));
  const std::string return_path = identity::safe_return_path(url_.base, field(call.form, "return"));
  if (email_error(email)) {
    Data data = sign_in_data(url_, {.return_path = return_path, .email = email});
    set_ways(data);
    data.set("fault", texts().text("mail_link_invalid"));
    return render(url_, {"sign_in", texts().text("sign_in"), {}, 422}, std::move(data));
  }
  const std::string key = email_key(email);
  // Nothing here depends on whether a user has the address: the worker that queues mails looks.
  if (!link_address_limiter_.count(key, call.now).is_exceeded) {
    const std::string salt = random_hex(kSecretBytes);
    store_.sign_in_mails.add({.token_hash = hash_of(options_.link_token(salt)),
                              .salt = salt,
                              .email_key = key,
                              .client = call.request.client,
                              .created_at = call.now,
                              .expires_at = call.now + store::kMailedLinkMillis});
  }
  return with_return_to(
      url_, redirect(url_.base + "/sign-in?" + query_of({{"asked", "1"}, {"return", return_path}})),
      return_path);
}

std::unique_ptr<identity::SignInPages> ConsoleSignIn::make_provider_pages() {
  if (options_.provider_sign_in == nullptr || options_.sso == nullptr) return nullptr;
  return std::make_unique<identity::SignInPages>(
      *options_.sso, *options_.provider_sign_in,
      identity::SignInPageOptions{options_.admin_url, options_.clock,
                                  [this](const http::HttpRequest& request, const identity::SignInView& view) {
                                    return form_page(request, view);
                                  },
                                  [this](const http::HttpRequest& request, const identity::SignedIn& by) {
                                    return begin_session(request, by);
                                  }});
}

http::HttpResponse ConsoleSignIn::choose_provider(const PageCall& call) {
  if (options_.link_token && (!provider_pages_ || field(call.form, "by") == "link")) return mail_link(call);
  return provider_pages_ ? provider_pages_->form(call.request) : not_found(call);
}

http::HttpResponse ConsoleSignIn::start_sign_in(const PageCall& call) {
  return provider_pages_ ? provider_pages_->start(call.request) : not_found(call);
}

http::HttpResponse ConsoleSignIn::finish_sign_in(const PageCall& call) {
  return provider_pages_ ? provider_pages_->finish(call.request) : not_found(call);
}

http::HttpResponse ConsoleSignIn::provider_reply(const http::HttpRequest& request) {
  return provider_pages_ ? provider_pages_->callback(request)
                         : notice(url_, 404, "not_found", "not_found_text");
}

/// Always a new session: the one that the browser had before ends, and its cookie is not kept (CON-1).
std::string ConsoleSignIn::begin_session(const http::HttpRequest& request,
                                         const identity::SignedIn& signed_in) {
  const std::string cookie = to_base64url(random_bytes(kSecretBytes));
  const UtcMillis now = options_.clock();
  store::ConsoleSession session = new_session(request, cookie, now);
  session.user = signed_in.user.user;
  session.identity = signed_in.user.identity;
  session.authenticated_at = signed_in.authenticated_at;
  session.expires_at = now + options_.settings.absolute_hours * kHourMillis;
  if (signed_in.session_until) session.expires_at = std::min(session.expires_at, *signed_in.session_until);
  store::AuditEvent event = signed_in.audit;
  event.session = store::public_session_id(session.id_hash);
  return store_.console_sessions.create_instead_of(former_hash(request, url_), session, event)
             ? set_cookie(url_, cookie)
             : std::string();
}

http::HttpResponse ConsoleSignIn::link_page(const PageCall& call) {
  const auto link = store_.console_sessions.find_link(hash_of(call.parameter), call.now);
  const auto user = link ? store_.console_users.find(link->user) : std::nullopt;
  if (!user) {
    const auto guesses = guess_limiter_.count(rate_limit_prefix(call.request.client), call.now);
    if (guesses.is_exceeded)
      return http::with_retry_after(notice(url_, 429, "too_many", "too_many_text"), guesses.reset_seconds);
    return bad_link(call);
  }
  Data data;
  data.set("heading", texts().text("link_text", {{"name", user->name.empty() ? user->email : user->name}}));
  if (!user->name.empty()) data.set("email", user->email);
  data.set("until", time_data(link->expires_at));
  data.set("zone", shown_zone());
  data.set("lasts_an_hour", !link->is_by_mail);
  return render(url_, {"link", texts().text("sign_in"), {}, 200}, std::move(data));
}

/// The overview is no way out for a browser without a session: it would ask for a link again.
http::HttpResponse ConsoleSignIn::bad_link(const PageCall& call) {
  if (find_session(call.request, call.now)) return notice(url_, 404, "bad_link", "bad_link_text");
  Data data = sign_in_data(url_, {.return_path = wanted_page(call.request, url_)});
  set_ways(data);
  data.set("reason", texts().text("bad_link_text"));
  return render(url_, {"sign_in", texts().text("bad_link"), {}, 404}, std::move(data));
}

http::HttpResponse ConsoleSignIn::sign_in_by_link(const PageCall& call) {
  const std::string hash = hash_of(call.parameter);
  const auto link = store_.console_sessions.find_link(hash, call.now);
  const auto user = link ? store_.console_users.find(link->user) : std::nullopt;
  if (!user) return link_page(call);
  const std::string cookie = to_base64url(random_bytes(kSecretBytes));
  store::ConsoleSession session = new_session(call.request, cookie, call.now);
  session.is_by_mail = link->is_by_mail;
  session.expires_at = call.now + options_.settings.absolute_hours * kHourMillis;
  if (!link->is_by_mail) session.expires_at = std::min(session.expires_at, call.now + kMaxLinkSessionMillis);
  store::AuditEvent event = event_of(call, "sign-in", "user", user->email);
  event.actor = user->email;
  event.organization = user->organization;
  event.session = store::public_session_id(session.id_hash);
  event.detail = (link->is_by_mail ? "by a mailed link, asked for by " : "by a link of ") + link->created_by;
  if (!store_.console_sessions.create_by_link(hash, former_hash(call.request, url_), session, event,
                                              call.now))
    return link_page(call);
  http::HttpResponse response = redirect(wanted_page(call.request, url_));
  response.headers.emplace_back("Set-Cookie", set_cookie(url_, cookie));
  forget_wanted_page(call.request, url_, response);
  return response;
}

http::HttpResponse ConsoleSignIn::sign_out(const PageCall& call) {
  store_.console_sessions.end(call.by->session.id_hash,
                              event_of(call, "sign-out", "user", call.by->user.email));
  http::HttpResponse response = redirect(url_.base + "/sign-in?signed_out=1");
  response.headers.emplace_back("Set-Cookie", set_cookie(url_, ""));
  // The next user of the browser wants another page, and this one may name a recipient.
  forget_wanted_page(call.request, url_, response);
  return response;
}

}  // namespace giftsync::console
