// daemon/http: parses the Idempotency-Key header (HTTP-32).
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::http {

inline constexpr std::size_t kMaxIdempotencyKeyLength = 255;

/// The request's key without quotation marks (nullopt: no header), or a sentence for problem.h's
/// invalid_idempotency_key(). "abc" and abc are the same key; between quotation marks \" and \\ stand for "
/// and
/// \. A key has 1 to 255 printable ASCII characters.
tl::expected<std::optional<std::string>, std::string> parse_idempotency_key(const HttpRequest& request);

}  // namespace giftsync::daemon::http
