// daemon/http: the checks that every JSON endpoint makes before it reads the content, in this order
// (HTTP-14): size, encoding, type, Idempotency-Key, form, fields. The caller is authenticated before. The
// status webhook has its own order (SRC-23), since most signatures cover the body. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "daemon/http/field_issue.h"
#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"

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
tl::expected<std::optional<std::string>, HttpResponse> check_json_head(const HttpRequest& request,
                                                                       std::size_t max_body_bytes,
                                                                       RepeatPolicy repeat_policy);

/// 400 for a body that is not JSON or has faulty content.
HttpResponse refused_body(const BodyError& error);

/// The call, or the refusal. `parse` converts the body to a tl::expected<Body, BodyError>.
template <class Parse>
auto parse_json_request(const HttpRequest& request, std::size_t max_body_bytes, RepeatPolicy repeat_policy,
                        const Parse& parse)
    -> tl::expected<JsonRequest<typename std::invoke_result_t<Parse>::value_type>, HttpResponse> {
  auto key = check_json_head(request, max_body_bytes, repeat_policy);
  if (!key) return tl::unexpected(std::move(key.error()));
  auto body = parse();
  if (!body) return tl::unexpected(refused_body(body.error()));
  return {{std::move(*body), std::move(*key)}};
}

}  // namespace giftsync::daemon::http
