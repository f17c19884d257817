// daemon/http: what a browser sends beside the path: cookies and forms. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::http {

/// The value of the cookie; nothing when it is missing or there are two.
std::optional<std::string> cookie_of(const HttpRequest& request, std::string_view name);

/// Whether the body says that it is an urlencoded form.
bool is_form(const HttpRequest& request);

}  // namespace giftsync::daemon::http
