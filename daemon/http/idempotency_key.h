// daemon/http: parses the Idempotency-Key header (HTTP-32).
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::http {

inline constexpr std::size_t kMaxIdempotencyKeyLength = 255;

struct IdempotencyKeyError {
  std::string reason;  ///< a sentence for problem.h's invalid_idempotency_key()
};

/// The request's key without quotation marks (nullopt: no header), or the error in its header. "abc" and abc
/// are the same key; between quotation marks \" and \\ stand for " and \. A key has 1 to 255 printable ASCII
/// characters.
std::variant<std::optional<std::string>, IdempotencyKeyError> parse_idempotency_key(
    const HttpRequest& request);

}  // namespace giftsync::daemon::http
