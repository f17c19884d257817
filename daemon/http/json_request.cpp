#include "daemon/http/json_request.h"

#include "daemon/http/content_type.h"
#include "daemon/http/idempotency_key.h"

namespace giftsync::daemon::http {

std::variant<std::optional<std::string>, HttpResponse> check_json_head(const HttpRequest& request,
                                                                       std::size_t max_body_bytes,
                                                                       RepeatPolicy repeat_policy) {
  if (request.body_too_large) return body_too_large(max_body_bytes);
  if (const auto error = content_encoding_error(request)) return unsupported_content_encoding(*error);
  if (const auto error = json_content_type_error(request)) return unsupported_media_type(*error);
  if (repeat_policy == RepeatPolicy::naturally_idempotent) return std::optional<std::string>();
  auto key = parse_idempotency_key(request);
  if (const auto* error = std::get_if<IdempotencyKeyError>(&key))
    return invalid_idempotency_key(error->reason);
  return std::get<std::optional<std::string>>(std::move(key));
}

}  // namespace giftsync::daemon::http
