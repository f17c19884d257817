#include "daemon/http/routes.h"

#include <array>
#include <limits>

#include "sync/gift/gift_links.h"

namespace giftsync::http {
namespace {

constexpr std::string_view kLink = "/g/{link...}";
constexpr std::string_view kMetadata = "/api/v1/sso/metadata/{connection...}";
static_assert(kLink.starts_with(sync::GiftLinks::kPath));

/// Also its name in the log, so that no token is logged (MSG-3).
constexpr std::string_view kMessagePath = "/api/v1/crm/salesforce/messages/{token}";
constexpr std::string_view kRecordPath = "/api/v1/request_records/{number}";
constexpr std::string_view kHeldPath = "/api/v1/held_requests/{id}";
constexpr Methods kPost = Methods::post;
constexpr Methods kReads = Methods::reads;
constexpr Methods kReadsAndPost = Methods::reads_and_post;
constexpr Methods kHandlerChecks = Methods::handler_checks;
using Credential = RouteInput::Credential;
/// Only limits.max_body_bytes counts.
constexpr std::size_t kLarge = std::numeric_limits<std::size_t>::max();
constexpr RouteInput kLiveness{Credential::none, HandlerKind::liveness, kMaxSmallBodyBytes};
constexpr RouteInput kReadiness{Credential::none, HandlerKind::readiness, kMaxSmallBodyBytes};
constexpr RouteInput kPage{Credential::none, HandlerKind::page, kMaxSmallBodyBytes};
constexpr RouteInput kConsole{Credential::none, HandlerKind::console, kMaxSmallBodyBytes};
constexpr RouteInput kDecision{Credential::none, HandlerKind::console, kMaxDecisionBodyBytes};
constexpr RouteInput kOpen{Credential::none, HandlerKind::endpoint, kMaxSmallBodyBytes};
constexpr RouteInput kKey{Credential::api_key, HandlerKind::endpoint, kMaxSmallBodyBytes};
constexpr RouteInput kKeyBody{Credential::api_key, HandlerKind::endpoint, kLarge};
constexpr RouteInput kCrmKey{Credential::api_key, HandlerKind::crm, kMaxSmallBodyBytes};
constexpr RouteInput kCrmKeyBody{Credential::api_key, HandlerKind::crm, kLarge};
constexpr RouteInput kCrmTokenBody{Credential::organization_token, HandlerKind::crm, kLarge};
constexpr RouteInput kMessageBody{Credential::message_token, HandlerKind::crm, kMaxMessageBodyBytes};
/// Wait for an identity provider, which must hold up neither pages nor gifts: anyone may begin a sign-in.
constexpr RouteInput kProvider{Credential::none, HandlerKind::sign_in, kMaxSmallBodyBytes};
constexpr RouteInput kProviderReply{Credential::none, HandlerKind::sign_in, kMaxSignInBodyBytes};
constexpr RouteInput kSourceBody{Credential::source, HandlerKind::endpoint, kLarge};
using A = Handlers;
using G = RouteGroup;

// clang-format off
constexpr auto kRoutes = std::to_array<Route>({
    // path                                             in the log                                      listener             methods         group              input          handler
    {"/-/healthy",                                      "/-/healthy",                                   ListenerRole::both,  kReads,         G::probes,         kLiveness,     &A::healthy},
    {"/-/ready",                                        "/-/ready",                                     ListenerRole::both,  kReads,         G::probes,         kReadiness,    &A::ready},
    {"/api/v1/gift_requests",                           "/api/v1/gift_requests",                        ListenerRole::base,  kReadsAndPost,  G::gift_requests,  kKeyBody,      &A::send_by_email, &A::list_gift_requests},
    {"/api/v1/gift_requests/validate",                  "/api/v1/gift_requests/validate",               ListenerRole::base,  kPost,          G::validation,     kCrmKeyBody,   &A::validate_by_email},
    {"/api/v1/gift_requests/{id}",                      "/api/v1/gift_requests/{id}",                   ListenerRole::base,  kReads,         G::gift_requests,  kKey,          &A::read_gift_request},
    {"/api/v1/gift_requests/{rest...}",                 kNoSuchPath,                                    ListenerRole::base,  kHandlerChecks, G::gift_requests,  kOpen,         nullptr},
    {"/api/v1/balance",                                 "/api/v1/balance",                              ListenerRole::base,  kReads,         G::gift_requests,  kKey,          &A::read_balance},
    {"/api/v1/events",                                  "/api/v1/events",                               ListenerRole::base,  kReads,         G::gifts,          kKey,          &A::list_events},
    {"/api/v1/gifts",                                   "/api/v1/gifts",                                ListenerRole::base,  kReads,         G::gifts,          kKey,          &A::list_gifts},
    {"/api/v1/gifts/{id}",                              "/api/v1/gifts/{id}",                           ListenerRole::base,  kReads,         G::gifts,          kKey,          &A::read_gift},
    {"/api/v1/gifts/{id}/history",                      "/api/v1/gifts/{id}/history",                   ListenerRole::base,  kReads,         G::gifts,          kKey,          &A::read_gift_history},
    {"/api/v1/gifts/{id}/match",                        "/api/v1/gifts/{id}/match",                     ListenerRole::base,  kReads,         G::gifts,          kKey,          &A::read_gift_match},
    {"/api/v1/gifts/{id}/cancel",                       "/api/v1/gifts/{id}/cancel",                    ListenerRole::base,  kPost,          G::gifts,          kKey,          &A::cancel_gift},
    {"/api/v1/gifts/{id}/resend",                       "/api/v1/gifts/{id}/resend",                    ListenerRole::base,  kPost,          G::gifts,          kCrmKey,       &A::resend_gift},
    {"/api/v1/gifts/{id}/extend",                       "/api/v1/gifts/{id}/extend",                    ListenerRole::base,  kPost,          G::gifts,          kKey,          &A::extend_gift},
    {"/api/v1/gifts/{rest...}",                         kNoSuchPath,                                    ListenerRole::base,  kHandlerChecks, G::gifts,          kOpen,         nullptr},
    {"/api/v1/items",                                   "/api/v1/items",                                ListenerRole::base,  kReads,         G::gifts,          kKey,          &A::list_items},
    {"/api/v1/items/{id}",                              "/api/v1/items/{id}",                           ListenerRole::base,  kReads,         G::gifts,          kKey,          &A::read_item},
    {kLink,                                             "/g/{link}",                                    ListenerRole::base,  kHandlerChecks, G::gift_pages,     kPage,         &A::page},
    {"/api/v1/webhooks/gift_requests",                  "/api/v1/webhooks/gift_requests",               ListenerRole::admin, kPost,          G::gift_requests,  kKeyBody,      &A::create_urls},
    {"/api/v1/webhooks/gift_requests/validate",         "/api/v1/webhooks/gift_requests/validate",      ListenerRole::admin, kPost,          G::validation,     kCrmKeyBody,   &A::validate_urls},
    {"/api/v1/crm/gift_requests",                       "/api/v1/crm/gift_requests",                    ListenerRole::admin, kPost,          G::crm,            kCrmTokenBody, &A::send_from_crm},
    {"/api/v1/crm/gift_requests/validate",              "/api/v1/crm/gift_requests/validate",           ListenerRole::admin, kPost,          G::validation,     kCrmTokenBody, &A::validate_from_crm},
    {kMessagePath,                                      kMessagePath,                                   ListenerRole::admin, kPost,          G::crm,            kMessageBody,  &A::outbound_message},
    {kMetadata,                                         "/api/v1/sso/metadata/{connection}",            ListenerRole::admin, kReads,         G::other,          kOpen,         &A::metadata},
    {"/api/v1/webhooks/status_changes/{source...}",     "/api/v1/webhooks/status_changes/{source}",     ListenerRole::admin, kHandlerChecks, G::status_changes, kSourceBody,   &A::status_changes},
    {"/api/v1/request_records",                         "/api/v1/request_records",                      ListenerRole::admin, kPost,          G::request_records,kCrmKeyBody,   &A::create_record},
    {"/api/v1/request_records/validate",                "/api/v1/request_records/validate",             ListenerRole::admin, kPost,          G::validation,     kCrmKeyBody,   &A::validate_record},
    {kRecordPath,                                        kRecordPath,                                     ListenerRole::admin, kReads,         G::request_records,kCrmKey,       &A::read_record},
    {"/api/v1/request_records/{number}/approve",        kRecordPath,                                     ListenerRole::admin, kPost,          G::request_records,kCrmKey,       &A::approve_record},
    {"/api/v1/request_records/{number}/reject",         kRecordPath,                                     ListenerRole::admin, kPost,          G::request_records,kCrmKey,       &A::reject_record},
    {"/api/v1/request_records/{rest...}",               kRecordPath,                                     ListenerRole::admin, kHandlerChecks, G::request_records,kOpen,         nullptr},
    {"/api/v1/held_requests",                           "/api/v1/held_requests",                        ListenerRole::admin, kReads,         G::held_requests,  kKey,          &A::list_held},
    {kHeldPath,                                         kHeldPath,                                      ListenerRole::admin, kReads,         G::held_requests,  kKey,          &A::read_held},
    {"/api/v1/held_requests/{id}/approve",              kHeldPath,                                      ListenerRole::admin, kPost,          G::held_requests,  kKey,          &A::approve_held},
    {"/api/v1/held_requests/{id}/reject",               kHeldPath,                                      ListenerRole::admin, kPost,          G::held_requests,  kKey,          &A::reject_held},
    {"/api/v1/held_requests/{rest...}",                 kHeldPath,                                      ListenerRole::admin, kHandlerChecks, G::held_requests,  kOpen,         nullptr},
    {"/api/v1/webhook_endpoints",                        "/api/v1/webhook_endpoints",                    ListenerRole::admin, kReadsAndPost,  G::other,          kCrmKey,       &A::create_webhook, &A::list_webhooks},
    {"/api/v1/webhook_endpoints/{id}",                   "/api/v1/webhook_endpoints/{id}",               ListenerRole::admin, kHandlerChecks, G::other,          kCrmKey,       &A::handle_webhook},
    {"/api/v1/webhook_endpoints/{id}/rotate_secret",     "/api/v1/webhook_endpoints/{id}/rotate_secret", ListenerRole::admin, kPost,          G::other,          kCrmKey,       &A::rotate_webhook_secret},
    {"/api/v1/webhook_endpoints/{id}/test",              "/api/v1/webhook_endpoints/{id}/test",          ListenerRole::admin, kPost,          G::other,          kCrmKey,       &A::test_webhook},
    {"/api/v1/webhook_endpoints/{id}/replay",            "/api/v1/webhook_endpoints/{id}/replay",        ListenerRole::admin, kPost,          G::other,          kCrmKey,       &A::replay_webhook},
    {"/api/v1/webhook_endpoints/{id}/retry",             "/api/v1/webhook_endpoints/{id}/retry",         ListenerRole::admin, kPost,          G::other,          kCrmKey,       &A::retry_webhook},
    {"/api/v1/webhook_endpoints/{id}/enable",            "/api/v1/webhook_endpoints/{id}/enable",        ListenerRole::admin, kPost,          G::other,          kCrmKey,       &A::enable_webhook},
    {"/api/v1/webhook_endpoints/{id}/disable",           "/api/v1/webhook_endpoints/{id}/disable",       ListenerRole::admin, kPost,          G::other,          kCrmKey,       &A::disable_webhook},
    {"/api/v1/webhook_endpoints/{id}/attempts",          "/api/v1/webhook_endpoints/{id}/attempts",      ListenerRole::admin, kReads,         G::other,          kKey,          &A::list_webhook_attempts},
    {"/api/v1/webhook_endpoints/{rest...}",              kNoSuchPath,               ListenerRole::admin, kHandlerChecks, G::other,          kOpen,         nullptr},
    {"/login/callback",                                 "/login/callback",                              ListenerRole::both,  kHandlerChecks, G::console,        kProviderReply, &A::sign_in_reply},
    {"/console/sign-in/start",                          "/console/sign-in/start",                       ListenerRole::admin, kReads,         G::console,        kProvider,     &A::console},
    {"/console/sign-in/finish",                         "/console/sign-in/finish",                      ListenerRole::admin, kReads,         G::console,        kProvider,     &A::console},
    {"/console",                                        "/console",                                     ListenerRole::admin, kHandlerChecks, G::console,        kConsole,      &A::console},
    {"/console/link/{token...}",                        "/console/link/{token}",                        ListenerRole::admin, kHandlerChecks, G::console,        kConsole,      &A::console},
    {"/console/requests/{page...}",                     "/console/{page}",                              ListenerRole::admin, kHandlerChecks, G::console,        kDecision,     &A::console},
    {"/console/{page...}",                              "/console/{page}",                              ListenerRole::admin, kHandlerChecks, G::console,        kConsole,      &A::console},
});
// clang-format on

}  // namespace

RouteMatch find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (const auto path_parameter = match_pattern(route.pattern, path)) return {&route, *path_parameter};
  }
  return {};
}

std::optional<std::string_view> match_pattern(std::string_view pattern, std::string_view path) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return path == pattern ? std::optional(path.substr(path.size())) : std::nullopt;
  if (!path.starts_with(pattern.substr(0, open))) return std::nullopt;
  path.remove_prefix(open);
  if (pattern.ends_with("...}")) return path;
  const std::string_view suffix = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= suffix.size() || !path.ends_with(suffix)) return std::nullopt;
  path.remove_suffix(suffix.size());
  return path.find('/') == std::string_view::npos ? std::optional(path) : std::nullopt;
}

}  // namespace giftsync::http
