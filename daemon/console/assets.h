// daemon/console: the files that pages load. A URL has the hash of its file, so that browsers keep it for a
// year and load another one after an upgrade.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::console {

/// "assets/3f9a1c02b77d/console.css" below the console's address.
const std::string& style_path();
const std::string& script_path();
const std::string& icon_path();

/// `rest` follows "assets/". Nothing for a path of no file.
std::optional<http::HttpResponse> asset(std::string_view rest);

}  // namespace giftsync::daemon::console
