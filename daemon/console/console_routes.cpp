#include "daemon/console/console_routes.h"

#include <array>
#include <utility>

#include "daemon/console/console_sign_in.h"
#include "daemon/console/page_frame.h"
#include "daemon/console/pages.h"
#include "daemon/http/routes.h"

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
    {false, "audit",                     P::see_own,         audit_page},
    {false, "users",                     P::see_users,       users_page},
    {true,  "users/{id}/end-sessions",   P::manage_users,    end_sessions},
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
    {false, "connections",               P::see_settings,    connections_page},
    {false, "settings",                  P::see_settings,    settings_page},
    {true,  "gifts/{id}/resend",         P::act_on_gifts,    resend_gift},
    {true,  "gifts/{id}/cancel",         P::act_on_gifts,    cancel_gift},
    {true,  "gifts/{id}/retry",          P::act_on_crm,      retry_gift},
    {true,  "gifts/{id}/rematch",        P::act_on_crm,      rematch_gift},
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

}  // namespace giftsync::console
