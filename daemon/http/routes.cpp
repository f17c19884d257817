#include "daemon/http/routes.h"

#include <array>
#include <optional>

#include "daemon/http/gift_links.h"
#include "daemon/sso/connection_addresses.h"

namespace giftsync::daemon {
namespace {

constexpr std::string_view kLink = "/g/{link...}";
constexpr std::string_view kMetadata = "/api/v1/sso/metadata/{connection...}";
static_assert(kLink.starts_with(GiftLinks::kPath) && kMetadata.starts_with(kMetadataPath));

constexpr std::string_view kOneRecord = "/api/v1/request_records/{number}";
constexpr Methods kPost = Methods::post;
constexpr Methods kReads = Methods::reads;
constexpr Methods kItsOwn = Methods::the_answers_own;
using A = Answers;

// clang-format off
constexpr auto kRoutes = std::to_array<Route>({
    // path                                             in the log                                      door         methods  who answers
    {"/-/healthy",                                      "/-/healthy",                                   Door::both,  kReads,  &A::healthy},
    {"/-/ready",                                        "/-/ready",                                     Door::both,  kReads,  &A::ready},
    {"/api/v1/gift_requests",                           "/api/v1/gift_requests",                        Door::base,  kPost,   &A::send_by_email},
    {"/api/v1/gift_requests/{id}",                      "/api/v1/gift_requests/{id}",                   Door::base,  kReads,  &A::read_request},
    {"/api/v1/gift_requests/{rest...}",                 kNoSuchPath,                                    Door::base,  kItsOwn, nullptr},
    {kLink,                                             "/g/{link}",                                    Door::base,  kItsOwn, &A::page},
    {"/api/v1/webhooks/gift_requests",                  "/api/v1/webhooks/gift_requests",               Door::admin, kPost,   &A::hand_out_urls},
    {"/api/v1/crm/gift_requests",                       "/api/v1/crm/gift_requests",                    Door::admin, kPost,   &A::send_from_crm},
    {kMetadata,                                         "/api/v1/sso/metadata/{connection}",            Door::admin, kReads,  &A::metadata},
    {"/api/v1/webhooks/status_changes/{source...}",     "/api/v1/webhooks/status_changes/{source}",     Door::admin, kItsOwn, &A::status_changes},
    {"/api/v1/request_records",                         "/api/v1/request_records",                      Door::admin, kPost,   &A::make_record},
    {kOneRecord,                                        kOneRecord,                                     Door::admin, kReads,  &A::read_record},
    {"/api/v1/request_records/{number}/approve",        kOneRecord,                                     Door::admin, kPost,   &A::approve_record},
    {"/api/v1/request_records/{number}/reject",         kOneRecord,                                     Door::admin, kPost,   &A::reject_record},
    {"/api/v1/request_records/{rest...}",               kOneRecord,                                     Door::admin, kItsOwn, nullptr},
});
// clang-format on

/// What the path has in the place of {name}; nullopt when it does not fit.
std::optional<std::string_view> fitted(std::string_view pattern, std::string_view path) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return path == pattern ? std::optional(path.substr(path.size())) : std::nullopt;
  if (!path.starts_with(pattern.substr(0, open))) return std::nullopt;
  path.remove_prefix(open);
  if (pattern.ends_with("...}")) return path;
  const std::string_view behind = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= behind.size() || !path.ends_with(behind)) return std::nullopt;
  path.remove_suffix(behind.size());
  return path.find('/') == std::string_view::npos ? std::optional(path) : std::nullopt;
}

}  // namespace

FoundRoute find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (const auto named = fitted(route.pattern, path)) return {&route, *named};
  }
  return {};
}

}  // namespace giftsync::daemon
