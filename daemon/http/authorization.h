// daemon/http: the API key in a request's Authorization header (Spec 5.1, design 3.4). Whether the key is
// good is decided elsewhere.
#pragma once

#include <optional>
#include <string>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

/// The key's text from "Authorization: KEY" or "Authorization: Bearer KEY" (the scheme in any case), trimmed.
/// Nullopt for anything else: no such header or two of them, another scheme, nothing after the scheme, or
/// characters and lengths that no key has.
std::optional<std::string> api_key_of(const HttpRequest& request);

}  // namespace giftsync::daemon
