// daemon/http: whether a request's body says that it is JSON, and not compressed (Spec 4.1, design 3.4).
#pragma once

#include <optional>
#include <string>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

/// Nullopt when the body may be read as JSON: the Content-Type is application/json (any parameters; a charset
/// must be utf-8), empty or missing. Else a sentence for problem.h's unsupported_media_type(). Types such as
/// application/ld+json name other documents than a gift request and are refused.
std::optional<std::string> json_content_fault(const HttpRequest& request);

/// Nullopt when the body is there as it was written: the Content-Encoding is identity, empty or missing. Else
/// a sentence for problem.h's unsupported_content_encoding().
std::optional<std::string> content_encoding_fault(const HttpRequest& request);

}  // namespace giftsync::daemon
