// daemon/http: the checks that every JSON endpoint makes before it reads the content, in this order
// (HTTP-14): size, encoding, type, Idempotency-Key, form, fields. The caller is authenticated before. The
// status webhook has its own order (SRC-23), since most signatures cover the body. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"
#include "daemon/validation/json_body.h"

namespace giftsync::http {

template <class Body>
struct JsonRequest {
  Body body;
  std::optional<std::string> idempotency_key;
};

/// The Idempotency-Key of a call whose size, encoding and type are valid, or the refusal.
tl::expected<std::optional<std::string>, HttpResponse> check_json_head(const HttpRequest& request,
                                                                       std::size_t max_body_bytes,
                                                                       CallKind kind);

/// 400 for a body that is not JSON or has faulty content.
HttpResponse refused_body(const BodyError& error, CallKind kind);

/// The call, or the refusal. `parse` converts the body to a tl::expected<Body, BodyError>.
template <class Parse>
auto parse_json_request(const HttpRequest& request, std::size_t max_body_bytes, CallKind kind,
                        const Parse& parse)
    -> tl::expected<JsonRequest<typename std::invoke_result_t<Parse>::value_type>, HttpResponse> {
  auto key = check_json_head(request, max_body_bytes, kind);
  if (!key) return tl::unexpected(std::move(key.error()));
  auto body = parse();
  if (!body) return tl::unexpected(refused_body(body.error(), kind));
  return {{std::move(*body), std::move(*key)}};
}

// Whether a request's body is declared as JSON, or as XML, and not compressed (HTTP-19).

/// Nullopt when the body may be read as JSON: the Content-Type is application/json (any parameters; a charset
/// must be utf-8), empty or missing. Otherwise a sentence for problem.h's unsupported_media_type(). Types
/// such as application/ld+json describe other documents and are refused.
std::optional<std::string> json_content_type_error(const HttpRequest& request);

/// The same for a source, which cannot change its type on request (READ-5): also application/...+json
/// (RFC 6839), the former names of JSON, and the charset us-ascii, a part of utf-8.
std::optional<std::string> source_json_content_type_error(const HttpRequest& request);

/// The same for XML: text/xml or application/xml.
std::optional<std::string> xml_content_type_error(const HttpRequest& request);

/// Nullopt when the body is not encoded: the Content-Encoding is identity, empty or missing. Otherwise a
/// sentence for problem.h's unsupported_content_encoding().
std::optional<std::string> content_encoding_error(const HttpRequest& request);

// What a browser sends beside the path: cookies and forms. Pure.

/// The value of the cookie; nothing when it is missing or there are two.
std::optional<std::string> cookie_of(const HttpRequest& request, std::string_view name);

/// Whether the body says that it is an urlencoded form.
bool is_form(const HttpRequest& request);

// Parses the Idempotency-Key header (HTTP-32).

inline constexpr std::size_t kMaxIdempotencyKeyLength = 255;

/// The request's key without quotation marks (nullopt: no header), or a sentence for problem.h's
/// invalid_idempotency_key(). "abc" and abc are the same key; between quotation marks \" and \\ stand for "
/// and
/// \. A key has 1 to 255 printable ASCII characters.
tl::expected<std::optional<std::string>, std::string> parse_idempotency_key(const HttpRequest& request);

using validation::JsonObjectReader;
using validation::kMaxWarnings;
using validation::quoted;
using validation::read_json_body;
using validation::WarningList;

}  // namespace giftsync::http
