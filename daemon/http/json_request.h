// daemon/http: the checks that every JSON endpoint makes before it reads the content, in this order
// (HTTP-14): size, encoding, type, Idempotency-Key, form, fields. The caller is authenticated before. The
// status webhook has its own order (SRC-23), since most signatures cover the body. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "daemon/http/field_issue.h"
#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::http {

/// How a repeated call is handled.
enum class RepeatPolicy {
  by_idempotency_key,   ///< its Idempotency-Key identifies it
  naturally_idempotent  ///< a repeat has no further effect; the header is ignored
};

template <class Body>
struct JsonRequest {
  Body body;
  std::optional<std::string> idempotency_key;
};

/// The Idempotency-Key of a call whose size, encoding and type are valid, or the refusal.
std::variant<std::optional<std::string>, HttpResponse> check_json_head(const HttpRequest& request,
                                                                       std::size_t max_body_bytes,
                                                                       RepeatPolicy repeat_policy);

/// The call, or the refusal. `read` converts the body to a variant<Body, JsonError, FieldIssues>.
template <class Read>
auto parse_json_request(const HttpRequest& request, std::size_t max_body_bytes, RepeatPolicy repeat_policy,
                        const Read& read) {
  using Body = std::variant_alternative_t<0, std::invoke_result_t<Read>>;
  using Outcome = std::variant<JsonRequest<Body>, HttpResponse>;
  auto key = check_json_head(request, max_body_bytes, repeat_policy);
  if (auto* refusal = std::get_if<HttpResponse>(&key)) return Outcome(std::move(*refusal));
  auto body = read();
  if (const auto* error = std::get_if<platform::JsonError>(&body)) return Outcome(malformed_json(*error));
  if (const auto* errors = std::get_if<FieldIssues>(&body)) return Outcome(invalid_request(*errors));
  return Outcome(JsonRequest<Body>{std::get<Body>(std::move(body)),
                                   std::get<std::optional<std::string>>(std::move(key))});
}

}  // namespace giftsync::daemon::http
