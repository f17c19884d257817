#include "daemon/console/console_routes.h"

#include <array>

namespace giftsync::daemon::console {
namespace {

using P = Permission;

// clang-format off
constexpr auto kRoutes = std::to_array<ConsoleRoute>({
    {false, "",                         P::see_own,      &Console::overview},
    {false, "gifts",                    P::see_own,      &Console::gifts},
    {false, "gifts/{id}",               P::see_own,      &Console::gift},
    {false, "audit",                    P::see_own,      &Console::audit},
    {false, "users",                    P::see_users,    &Console::users},
    {true,  "users/{id}/end-sessions",  P::manage_users, &Console::end_sessions},
    {false, "sign-in",                  P::open,         &Console::sign_in_page},
    {true,  "sign-in",                  P::open,         &Console::choose_provider},
    {false, "sign-in/start",            P::open,         &Console::start_sign_in},
    {false, "sign-in/finish",           P::open,         &Console::finish_sign_in},
    {true,  "sign-out",                 P::signed_in,    &Console::sign_out},
    {false, "link/{token}",             P::open,         &Console::link_page},
    {true,  "link/{token}",             P::open,         &Console::sign_in_by_link},
    {false, "assets/{file...}",         P::open,         &Console::asset_file},
});
// clang-format on

std::optional<std::string_view> match(std::string_view pattern, std::string_view path) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return path == pattern ? std::optional(std::string_view()) : std::nullopt;
  if (!path.starts_with(pattern.substr(0, open))) return std::nullopt;
  path.remove_prefix(open);
  if (pattern.ends_with("...}")) return path;
  const std::string_view suffix = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= suffix.size() || !path.ends_with(suffix)) return std::nullopt;
  path.remove_suffix(suffix.size());
  return path.find('/') == std::string_view::npos ? std::optional(path) : std::nullopt;
}

}  // namespace

std::span<const ConsoleRoute> console_routes() {
  return kRoutes;
}

ConsoleMatch find_console_route(bool is_post, std::string_view path) {
  ConsoleMatch found;
  for (const ConsoleRoute& route : kRoutes) {
    const auto parameter = match(route.pattern, path);
    if (!parameter) continue;
    if (route.is_post == is_post) return {&route, std::string(*parameter), false};
    found.is_other_method = true;
  }
  return found;
}

}  // namespace giftsync::daemon::console
