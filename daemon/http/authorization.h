// daemon/http: extracts the API key from a request's Authorization header (HTTP-25). The authenticator
// decides whether the key is valid.
#pragma once

#include <optional>
#include <string>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::http {

/// The key's text from "Authorization: KEY" or "Authorization: Bearer KEY" (the scheme in any case), trimmed.
/// Nullopt for anything else: no such header or two of them, another scheme, nothing after the scheme, or
/// characters and lengths that no key has.
std::optional<std::string> api_key_from_header(const HttpRequest& request);

}  // namespace giftsync::daemon::http
