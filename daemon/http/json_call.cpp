#include "daemon/http/json_call.h"

#include "daemon/http/content_type.h"
#include "daemon/http/idempotency_key.h"

namespace giftsync::daemon {

std::variant<std::optional<std::string>, HttpResponse> read_json_head(const HttpRequest& request,
                                                                      std::size_t max_body_bytes,
                                                                      Repeats repeats) {
  if (request.body_too_large) return body_too_large(max_body_bytes);
  if (const auto fault = content_encoding_fault(request)) return unsupported_content_encoding(*fault);
  if (const auto fault = json_content_fault(request)) return unsupported_media_type(*fault);
  if (repeats == Repeats::harmless) return std::optional<std::string>();
  auto key = read_idempotency_key(request);
  if (const auto* fault = std::get_if<IdempotencyKeyFault>(&key)) return invalid_idempotency_key(fault->why);
  return std::get<std::optional<std::string>>(std::move(key));
}

}  // namespace giftsync::daemon
