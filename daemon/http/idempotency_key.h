// daemon/http: the Idempotency-Key header (design 3.4): under one key, a request happens once.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

inline constexpr std::size_t kMaxIdempotencyKey = 255;

struct IdempotencyKeyFault {
  std::string why;  ///< a sentence for problem.h's invalid_idempotency_key()
};

/// The request's key without quotation marks (nullopt: it has none), or what is wrong with its header. "abc"
/// and abc are the same key; between quotation marks \" and \\ stand for " and \. A key has 1 to 255
/// printable ASCII characters.
std::variant<std::optional<std::string>, IdempotencyKeyFault> read_idempotency_key(
    const HttpRequest& request);

}  // namespace giftsync::daemon
