// daemon/console: every path of the console with its method and permission, in one table (CON-13). The test
// of the authorization matrix is made from it: a route without a line there fails. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/console/access.h"
#include "daemon/console/page_call.h"

namespace giftsync::console {

struct ConsoleRoute {
  bool is_post = false;
  /// Below "/console/". {name} matches one segment, {name...} the rest.
  std::string_view pattern;
  Permission permission = Permission::manage_users;
  http::HttpResponse (*page)(const PageCall&) = nullptr;
  bool needs_new_proof = false;  ///< of the user (CON-45)
};

std::span<const ConsoleRoute> console_routes();

struct ConsoleMatch {
  const ConsoleRoute* route = nullptr;  ///< null: no such path
  std::string parameter = {};
  bool is_other_method = false;  ///< the path exists with the other method alone
};
/// `path` is below "/console/", decoded.
ConsoleMatch find_console_route(bool is_post, std::string_view path);
/// The page whose form posts to `path`: the longest beginning of the path that is a page (CON-56). Empty: the
/// overview. Both are below "/console/", decoded.
std::string page_of_form(std::string path);

}  // namespace giftsync::console
