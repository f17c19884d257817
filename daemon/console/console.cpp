#include "daemon/console/console.h"

#include <array>
#include <utility>

#include "daemon/console/page_frame.h"
#include "daemon/console/pages.h"
#include "daemon/http/problem.h"
#include "daemon/http/routes.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "platform/url_parameters.h"
#include "platform/visible_text.h"

namespace giftsync::console {

namespace {

using P = Permission;

template <http::HttpResponse (ConsoleSignIn::*page)(const PageCall&)>
http::HttpResponse sign_in(const PageCall& call) {
  return (call.console.sign_in.*page)(call);
}

http::HttpResponse asset_file(const PageCall& call) {
  auto found = asset(call.parameter);
  return found ? std::move(*found) : not_found(call);
}

// clang-format off
constexpr auto kRoutes = std::to_array<ConsoleRoute>({
    {false, "",                          P::see_own,         overview_page},
    {false, "gifts",                     P::see_own,         gifts_page},
    {false, "gifts/{id}",                P::see_own,         gift_page},
    {false, "reports",                   P::see_own,         reports_page},
    {true,  "test-gifts",                P::see_own,         switch_test_gifts},
    {true,  "time-zone",                 P::signed_in,       switch_zone},
    {false, "audit",                     P::see_own,         audit_page},
    {false, "users",                     P::see_users,       users_page},
    {true,  "users/{id}/end-sessions",   P::manage_users,    end_sessions},
    {false, "keys",                      P::see_keys,        keys_page},
    {true,  "keys/{id}/pause",           P::manage_keys,     pause_key, true},
    {true,  "keys/{id}/release",         P::manage_keys,     release_key, true},
    {true,  "keys/{id}/revoke",          P::manage_keys,     revoke_key, true},
    {false, "webhooks",                  P::see_webhooks,    webhooks_page},
    {true,  "webhooks",                  P::manage_webhooks, create_webhook, true},
    {false, "webhooks/{id}",             P::see_webhooks,    webhook_page},
    {false, "webhooks/{id}/attempt",     P::see_webhooks,    webhook_attempt_page},
    {true,  "webhooks/{id}/update",      P::manage_webhooks, update_webhook, true},
    {true,  "webhooks/{id}/rotate",      P::manage_webhooks, rotate_webhook, true},
    {true,  "webhooks/{id}/test",        P::manage_webhooks, test_webhook, true},
    {true,  "webhooks/{id}/retry",       P::manage_webhooks, retry_webhook, true},
    {true,  "webhooks/{id}/replay",      P::manage_webhooks, replay_webhook, true},
    {true,  "webhooks/{id}/enable",      P::manage_webhooks, enable_webhook, true},
    {true,  "webhooks/{id}/disable",     P::manage_webhooks, disable_webhook, true},
    {true,  "webhooks/{id}/delete",      P::manage_webhooks, delete_webhook, true},
    {false, "sending",                   P::see_operations,  sending_page},
    {true,  "sending/tokens/{id}/release", P::manage_keys,   release_token, true},
    {true,  "sending/pause",             P::pause_mail,      pause_mail, true},
    {true,  "sending/resume",            P::pause_mail,      resume_mail, true},
    {false, "sign-in",                   P::open,            sign_in<&ConsoleSignIn::sign_in_page>},
    {true,  "sign-in",                   P::open,            sign_in<&ConsoleSignIn::choose_provider>},
    {false, "sign-in/start",             P::open,            sign_in<&ConsoleSignIn::start_sign_in>},
    {false, "sign-in/finish",            P::open,            sign_in<&ConsoleSignIn::finish_sign_in>},
    {true,  "sign-out",                  P::signed_in,       sign_in<&ConsoleSignIn::sign_out>},
    {false, "link/{token}",              P::open,            sign_in<&ConsoleSignIn::link_page>},
    {true,  "link/{token}",              P::open,            sign_in<&ConsoleSignIn::sign_in_by_link>},
    {false, "assets/{file...}",          P::open,            asset_file},
    {false, "requests",                  P::see_own,         requests_page},
    {false, "requests/{number}",         P::see_own,         request_page},
    {true,  "requests/{number}/approve", P::decide_requests, approve_request},
    {true,  "requests/{number}/reject",  P::decide_requests, reject_request},
    {false, "mail",                      P::see_operations,  mail_page},
    {true,  "mail/retry",                P::operate,         retry_mails},
    {true,  "mail/{id}/release",         P::operate,         release_mail},
    {true,  "mail/{id}/withdraw",        P::operate,         withdraw_mail},
    {true,  "mail/{id}/retry",           P::operate,         retry_mail},
    {false, "sources",                   P::see_operations,  sources_page},
    {false, "sources/{name}",            P::see_operations,  source_page},
    {true,  "sources/{name}/release",    P::operate,         release_events},
    {true,  "sources/{name}/purge",      P::operate,         purge_events, true},
    {false, "do-not-send",               P::see_operations,  do_not_send_page},
    {true,  "do-not-send/add",           P::act_on_list,     add_do_not_send},
    {true,  "do-not-send/remove",        P::act_on_list,     remove_do_not_send},
    {false, "held",                      P::see_held,        held_page},
    {false, "held/{id}",                 P::see_held,        held_request_page},
    {true,  "held/{id}/approve",         P::decide_requests, approve_held_request},
    {true,  "held/{id}/reject",          P::decide_requests, reject_held_request},
    {false, "connections",               P::see_settings,    connections_page},
    {false, "settings",                  P::see_settings,    settings_page},
    {true,  "gifts/{id}/resend",         P::act_on_gifts,    resend_gift},
    {true,  "gifts/{id}/cancel",         P::act_on_gifts,    cancel_gift},
    {true,  "gifts/{id}/retry",          P::act_on_crm,      retry_gift},
    {true,  "gifts/{id}/rematch",        P::act_on_crm,      rematch_gift},
    {false, "cancel-gifts",              P::cancel_many,     cancel_page},
    {true,  "cancel-gifts/run",          P::cancel_many,     run_cancel, true},
    {false, "person",                    P::manage_people,   person_page},
    {true,  "person",                    P::manage_people,   show_person, true},
    {true,  "person/download",           P::manage_people,   download_person, true},
    {true,  "person/erase",              P::manage_people,   erase_person, true},
    {false, "gifts/{id}/match",          P::see_crm,         gift_match_page},
    {true,  "gifts/{id}/match",          P::see_crm,         gift_match_page},
    {false, "gifts/{id}/record",         P::see_crm,         gift_record_page},
    {true,  "gifts/{id}/record",         P::see_crm,         gift_record_page},
    {false, "match",                     P::see_crm,         match_page},
    {true,  "match",                     P::see_crm,         match_page},
    {false, "crm",                       P::see_crm,         crm_page},
    {true,  "crm/retry",                 P::act_on_crm,      retry_failures},
});
// clang-format on

}  // namespace

std::span<const ConsoleRoute> console_routes() {
  return kRoutes;
}

ConsoleMatch find_console_route(bool is_post, std::string_view path) {
  ConsoleMatch found;
  for (const ConsoleRoute& route : kRoutes) {
    const auto parameter = http::match_pattern(route.pattern, path);
    if (!parameter) continue;
    if (route.is_post == is_post) return {&route, std::string(*parameter), false};
    found.is_other_method = true;
  }
  return found;
}

std::string page_of_form(std::string path) {
  while (!path.empty() && !find_console_route(false, path).route) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  return path;
}

namespace {

constexpr std::string_view kRoot = "/console/";
/// A page that the store cannot make in this time asks for less.
constexpr std::int64_t kMaxReadMillis = 2 * kSecondMillis;
/// Neither a reply nor its browser can come later (SIGN-13).
constexpr std::int64_t kAttemptLifeMillis = identity::kAttemptMillis + identity::kFinishMillis;

bool is_read(const http::HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

constexpr std::size_t kMaxPathCodePoints = 200;

/// With what the logs have about it and the page does not show.
http::HttpResponse refused_for(http::HttpResponse response, std::string code, std::string reason) {
  response.code = std::move(code);
  response.reason = std::move(reason);
  return response;
}

/// The path of a page of the console with its query, to come back after signing in.
std::string address_of(const PageCall& call) {
  const http::HttpRequest& request = call.request;
  return url_of(call, request.path.substr(kRoot.size() - 1)) + (request.query.empty() ? "" : "?") +
         request.query;
}

/// Where a request without a session goes: to signing in, and from there to its page. Of a form nothing was
/// done, which the sign-in page says.
std::string sign_in_url(const PageCall& call) {
  const std::string url = call.url().base + "/sign-in?";
  if (is_read(call.request)) return url + query_of({{"return", address_of(call)}});
  const std::string path = call.request.path.substr(kRoot.size());
  if (path == "sign-out") return url + "signed_out=1";
  return url + query_of({{"ended", "1"}, {"return", url_of(call, "/" + page_of_form(path))}});
}

}  // namespace

namespace {

void log_fault(LogEvent event, std::string_view what, const std::exception& fault,
               const http::HttpRequest& request) {
  log_event(event,
            fmt::format("a page of the console {}: {} [request {}]", what, fault.what(), request.request_id),
            {LogField("request_id", request.request_id).not_in_text()});
}

}  // namespace

Console::Console(store::Store& store, ConsoleOptions options)
    : store_(store),
      options_(std::move(options)),
      url_(options_.admin_url),
      sign_in_(store_, options_, url_),
      context_{store_, options_, url_, sign_in_} {}

http::Reply Console::handle(const http::HttpRequest& request) {
  const ReadLimit limit(kMaxReadMillis);
  return guarded(request, [&] { return answer(request); });
}

/// The router expects no other fault than that of the store (CON-19).
template <class Answer>
http::HttpResponse Console::guarded(const http::HttpRequest& request, const Answer& answer) const {
  try {
    return answer();
  } catch (const ReadTooLong&) {
    return notice(url_, 503, "too_slow", "too_slow_text");
  } catch (const DependencyError& fault) {
    if (!fault.of_external_crm()) throw;
    // The router would take it for an outage of the store, and the daemon for one that is not ready.
    log_fault(LogEvent::console_needs_crm, "needs the CRM", fault, request);
    return notice(url_, 503, "crm_silent", "crm_silent_text");
  } catch (const std::exception& error) {
    log_fault(LogEvent::console_page_failed, "failed", error, request);
    return notice(url_, 500, "failed", "failed_text");
  }
}

http::HttpResponse Console::answer(const http::HttpRequest& request) {
  if (!has_right_host(request, url_)) return notice(url_, 421, "wrong_host", "wrong_host_text");
  if (request.path == "/console") return redirect(url_.base + "/");
  const bool is_post = request.method == "POST";
  if (!is_post && !is_read(request)) return http::method_not_allowed({"GET", "HEAD", "POST"});
  PageCall call{context_, request, {}, first_url_parameters(request.query), options_.clock()};
  const TimeView times(zone_of(request, url_), call.now);
  const ConsoleMatch match = find_console_route(is_post, std::string_view(request.path).substr(kRoot.size()));
  if (!match.route && match.is_other_method)
    return is_post ? http::method_not_allowed({"GET", "HEAD"}) : http::method_not_allowed({"POST"});
  call.parameter = match.parameter;
  http::HttpResponse response = answer_as(call, match.route);
  if (is_post && match.route && match.route->permission != Permission::open) record_refusal(call, response);
  return response;
}

http::HttpResponse Console::answer_as(PageCall& call, const ConsoleRoute* route) {
  const http::HttpRequest& request = call.request;
  const bool is_post = request.method == "POST";
  if (is_post) {
    if (const std::string fault = origin_fault(request, url_); !fault.empty())
      return refused_for(notice(url_, 403, "foreign_form", "foreign_form_text"), "foreign_form", fault);
    call.form = first_url_parameters(request.body);
  }
  if (route && route->permission == Permission::open) return route->page(call);
  call.by = sign_in_.find_session(request, call.now);
  if (!call.by) return redirect(sign_in_url(call));
  call.by->viewer.test = shows_test_gifts(call);
  if (is_post && !has_form_token(call))
    return refused_for(notice(url_, 403, "foreign_form", "stale_form_text", frame_user(call)), "stale_form",
                       "the form's token is missing, or of another session or form");
  if (!route) return not_found(call);
  if (may(call.by->viewer.roles, route->permission)) {
    if (!route->needs_new_proof || has_new_proof(call)) return route->page(call);
    return refused_for(new_proof_needed(call), "old_proof",
                       "the user's last proof of who they are is unknown, or older than ten minutes");
  }
  if (call.by->viewer.roles.empty())
    return refused_for(notice(url_, 403, "no_role", "no_role_text", frame_user(call)), "no_role",
                       "the user has no role");
  return refused_for(not_found(call), "no_right", "the user's roles do not permit it");
}

/// Nothing was changed, so the event stands alone. A form without a session is in the daemon's log only.
void Console::record_refusal(PageCall& call, const http::HttpResponse& response) {
  if (response.status != 403 && response.status != 404) return;
  if (!call.by) call.by = sign_in_.find_session(call.request, call.now);
  if (!call.by || refusals_.count(call.by->user.id.value, call.now).is_exceeded) return;
  const std::string path = visible_text(call.request.path.substr(kRoot.size() - 1));
  store::AuditEvent event =
      event_of(call, "form.refused", "page", std::string(truncated(path, kMaxPathCodePoints)));
  event.refused = true;
  event.rule = response.code == "old_proof"       ? "CON-45"
               : response.code.ends_with("_form") ? "CON-11"
                                                  : "CON-13";
  event.detail = response.reason.empty() ? "what it would change is not there, or not the user's to change"
                                         : response.reason;
  store_.audit.add(event);
}

bool Console::has_form_token(const PageCall& call) const {
  const std::string path = call.request.path.substr(kRoot.size() - 1);
  return equal_in_constant_time(field(call.form, "form_token"), token_of(call, path));
}

http::HttpResponse Console::provider_reply(const http::HttpRequest& request) {
  return guarded(request, [&] { return sign_in_.provider_reply(request); });
}

http::HttpResponse Console::unavailable(std::int64_t retry_after_seconds) const {
  return http::with_retry_after(notice(url_, 503, "unavailable", "unavailable_text"), retry_after_seconds);
}

void Console::prune(UtcMillis now) {
  store_.console_sessions.prune(now);
  store_.sign_in_attempts.prune(now - kAttemptLifeMillis);
  store_.sign_in_mails.prune(now);
  store_.sign_in_connections.prune(now);
  store_.audit.prune(now - options_.settings.audit_days * kDayMillis);
}

}  // namespace giftsync::console
