#include "daemon/console/console.h"

#include "daemon/console/assets.h"
#include "daemon/console/console_routes.h"
#include "daemon/http/problem.h"
#include "platform/digest.h"
#include "platform/ip_address.h"

namespace giftsync::daemon::console {
namespace {

constexpr std::string_view kRoot = "/console/";
constexpr std::int64_t kLastSeenMillis = platform::kMinuteMillis;
constexpr std::int64_t kAttemptLifeMillis = platform::kHourMillis;

bool is_read(const http::HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

/// Of a page of the console with its query, to come back after signing in.
std::string address_of(const ConsoleUrl& url, const http::HttpRequest& request) {
  return url.base + request.path.substr(kRoot.size() - 1) + (request.query.empty() ? "" : "?") +
         request.query;
}

}  // namespace

Console::Console(schema::store::Store& store, ConsoleOptions options)
    : store_(store),
      options_(std::move(options)),
      url_(options_.admin_url),
      provider_pages_(make_provider_pages()) {}

http::Reply Console::handle(const http::HttpRequest& request) {
  return answer(request);
}

http::HttpResponse Console::answer(const http::HttpRequest& request) {
  if (!has_right_host(request, url_)) return notice(url_, 421, "wrong_host", "wrong_host_text");
  if (request.path == "/console") return redirect(url_.base + "/");
  const bool is_post = request.method == "POST";
  if (!is_post && !is_read(request)) return http::method_not_allowed({"GET", "HEAD", "POST"});
  PageCall call{request, {}, parameters_of(request.query), options_.clock()};
  const ConsoleMatch match = find_console_route(is_post, std::string_view(request.path).substr(kRoot.size()));
  if (!match.route && match.is_other_method)
    return is_post ? http::method_not_allowed({"GET", "HEAD"}) : http::method_not_allowed({"POST"});
  const bool is_open = match.route && match.route->permission == Permission::open;
  if (is_post) {
    if (const std::string fault = origin_fault(request, url_); !fault.empty()) {
      http::HttpResponse refused = notice(url_, 403, "foreign_form", "foreign_form_text");
      refused.code = "foreign_form";
      refused.reason = fault;
      return refused;
    }
  }
  call.parameter = match.parameter;
  if (is_open) return (this->*match.route->page)(call);
  call.by = find_session(request, call.now);
  if (!call.by)
    return redirect(url_.base + "/sign-in" +
                    (is_post ? "" : "?" + query_of({{"return", address_of(url_, request)}})));
  if (is_post) {
    const std::string path = request.path.substr(kRoot.size() - 1);
    const auto form = parameters_of(request.body);
    const auto token = form.find("form_token");
    if (token == form.end() || !platform::equal_in_constant_time(token->second, token_of(call, path)))
      return notice(url_, 403, "foreign_form", "stale_form_text", frame_user(call));
  }
  if (!match.route) return not_found(call);
  if (!may(call.by->viewer.roles, match.route->permission))
    return call.by->viewer.roles.empty() ? notice(url_, 403, "no_role", "no_role_text", frame_user(call))
                                         : not_found(call);
  return (this->*match.route->page)(call);
}

std::optional<SignedIn> Console::find_session(const http::HttpRequest& request, platform::UtcMillis now) {
  const auto cookie = cookie_of(request, url_.cookie_name);
  if (!cookie || cookie->empty()) return std::nullopt;
  const std::string hash = platform::to_hex(platform::sha256(*cookie));
  const std::int64_t idle_millis = options_.settings.idle_minutes * platform::kMinuteMillis;
  const auto session = store_.console_sessions.find(hash, now, now - idle_millis);
  if (!session) return std::nullopt;
  const auto user = store_.console_users.find(session->user);
  if (!user) return std::nullopt;
  if (session->last_seen_at + kLastSeenMillis < now) store_.console_sessions.set_last_seen(hash, now);
  SignedIn by{*session, *user, {user->id, {}, user->organization, user->role_set()}};
  if (const auto account = store_.accounts.find_by_email(user->email)) by.viewer.account = account->id;
  return by;
}

std::string Console::token_of(const PageCall& call, const std::string& path) const {
  return form_token(call.by->session.form_secret, path);
}

std::optional<FrameUser> Console::frame_user(const PageCall& call) const {
  if (!call.by) return std::nullopt;
  const schema::store::ConsoleUser& user = call.by->user;
  return FrameUser{user.name.empty() ? user.email : user.name, token_of(call, "/sign-out"),
                   call.by->session.is_break_glass(), may(call.by->viewer.roles, Permission::see_users),
                   options_.settings.idle_minutes * 60};
}

http::HttpResponse Console::page(const PageCall& call, std::string_view name, const std::string& title,
                                 Data data) const {
  return render(url_, {name, title, frame_user(call), 200}, std::move(data));
}

http::HttpResponse Console::not_found(const PageCall& call) const {
  return notice(url_, 404, "not_found", "not_found_text", frame_user(call));
}

http::HttpResponse Console::unavailable(std::int64_t retry_after_seconds) const {
  return http::with_retry_after(notice(url_, 503, "unavailable", "unavailable_text"), retry_after_seconds);
}

http::HttpResponse Console::asset_file(const PageCall& call) {
  if (auto found = asset(call.parameter)) return std::move(*found);
  return notice(url_, 404, "not_found", "not_found_text");
}

schema::store::AuditEvent Console::event_of(const PageCall& call, const std::string& action) const {
  schema::store::AuditEvent event;
  event.occurred_at = call.now;
  event.request_id = call.request.request_id;
  event.network = platform::rate_limit_prefix(call.request.client);
  event.action = action;
  if (call.by) {
    event.actor = call.by->user.email;
    event.user = call.by->user.id;
    event.session = schema::store::public_session_id(call.by->session.id_hash);
    event.organization = call.by->user.organization;
  }
  return event;
}

void Console::prune(platform::UtcMillis now) {
  store_.console_sessions.prune(now);
  store_.sign_in_attempts.prune(now - kAttemptLifeMillis);
  store_.sign_in_connections.prune(now);
  store_.audit.prune(now - options_.settings.audit_days * platform::kDayMillis);
}

}  // namespace giftsync::daemon::console
