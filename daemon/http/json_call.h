// daemon/http: what a door that takes JSON asks of a call before it looks at what is meant, in this order
// (design 3.4): size, encoding, type, Idempotency-Key, form, fields. Whoever calls was admitted before.
// Webhooks (status_change_door.h) have an order of their own, since most signatures cover the body. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "daemon/http/field_note.h"
#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"
#include "daemon/http/strict_json.h"

namespace giftsync::daemon {

/// What becomes of a call that is made twice.
enum class Repeats {
  by_key,   ///< its Idempotency-Key tells
  harmless  ///< the same again: no key is looked at
};

template <class Body>
struct JsonCall {
  Body body;
  std::optional<std::string> idempotency_key;
};

/// The Idempotency-Key of a call whose size, encoding and type are good, or the refusal.
std::variant<std::optional<std::string>, HttpResponse> read_json_head(const HttpRequest& request,
                                                                      std::size_t max_body_bytes,
                                                                      Repeats repeats);

/// The call, or the refusal. `read` makes of the request's body a variant<Body, JsonFault, FieldNotes>.
template <class Read>
auto read_json_call(const HttpRequest& request, std::size_t max_body_bytes, Repeats repeats,
                    const Read& read) {
  using Body = std::variant_alternative_t<0, std::invoke_result_t<Read>>;
  using Outcome = std::variant<JsonCall<Body>, HttpResponse>;
  auto key = read_json_head(request, max_body_bytes, repeats);
  if (auto* refusal = std::get_if<HttpResponse>(&key)) return Outcome(std::move(*refusal));
  auto body = read();
  if (const auto* fault = std::get_if<JsonFault>(&body)) return Outcome(malformed_json(*fault));
  if (const auto* faults = std::get_if<FieldNotes>(&body)) return Outcome(invalid_request(*faults));
  return Outcome(
      JsonCall<Body>{std::get<Body>(std::move(body)), std::get<std::optional<std::string>>(std::move(key))});
}

}  // namespace giftsync::daemon
