#include "daemon/http/json_request.h"

#include "daemon/http/content_type.h"
#include "daemon/http/idempotency_key.h"

namespace giftsync::daemon::http {

tl::expected<std::optional<std::string>, HttpResponse> check_json_head(const HttpRequest& request,
                                                                       std::size_t max_body_bytes,
                                                                       RepeatPolicy repeat_policy) {
  if (request.body_too_large) return tl::unexpected(body_too_large(max_body_bytes));
  if (const auto error = content_encoding_error(request))
    return tl::unexpected(unsupported_content_encoding(*error));
  if (const auto error = json_content_type_error(request))
    return tl::unexpected(unsupported_media_type(*error));
  if (repeat_policy == RepeatPolicy::naturally_idempotent) return std::nullopt;
  return parse_idempotency_key(request).map_error(invalid_idempotency_key);
}

HttpResponse refused_body(const BodyError& error) {
  const auto* json_error = std::get_if<platform::JsonError>(&error);
  return json_error ? malformed_json(*json_error) : invalid_request(std::get<FieldIssues>(error));
}

}  // namespace giftsync::daemon::http
