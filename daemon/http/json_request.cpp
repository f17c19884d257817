#include "daemon/http/json_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::http {

tl::expected<std::optional<std::string>, HttpResponse> check_json_head(const HttpRequest& request,
                                                                       std::size_t max_body_bytes,
                                                                       CallKind kind) {
  if (request.body_too_large) return tl::unexpected(body_too_large(max_body_bytes, kind));
  if (const auto error = content_encoding_error(request))
    return tl::unexpected(unsupported_content_encoding(*error));
  if (const auto error = json_content_type_error(request))
    return tl::unexpected(unsupported_media_type(*error));
  if (kind == CallKind::changes) return std::nullopt;
  return parse_idempotency_key(request).map_error(invalid_idempotency_key);
}

HttpResponse refused_body(const BodyError& error, CallKind kind) {
  const auto* json_error = std::get_if<JsonError>(&error);
  if (json_error == nullptr) return invalid_request(std::get<FieldIssues>(error), kind);
  return malformed_json(*json_error,
                        fmt::format("{}; send one JSON object, encoded as UTF-8.", nothing_done(kind)));
}

namespace {

constexpr std::size_t kMaxQuotedBytes = 100;

/// The next part of a header value up to an unquoted semicolon, trimmed; removes it from `rest`.
std::string_view next_parameter(std::string_view& rest) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (quoted || rest[end] != ';'); ++end) {
    if (quoted && rest[end] == '\\')
      ++end;
    else if (rest[end] == '"')
      quoted = !quoted;
  }
  end = std::min(end, rest.size());
  const std::string_view part = trimmed(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

/// Every text of a charset that has a name here is UTF-8.
bool is_utf8_name(std::string_view charset, bool with_ascii) {
  if (charset.size() >= 2 && charset.front() == '"' && charset.back() == '"')
    charset = charset.substr(1, charset.size() - 2);
  const std::string name = ascii_lower(charset);
  return name == "utf-8" || name == "utf8" || (with_ascii && (name == "us-ascii" || name == "ascii"));
}

/// A header value for a message: ASCII and of bounded length.
std::string printable(std::string_view value) {
  std::string text(value.substr(0, kMaxQuotedBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

bool is_json_suffixed(std::string_view type) {
  constexpr std::string_view kBegin = "application/";
  constexpr std::string_view kEnd = "+json";
  return type.starts_with(kBegin) && type.ends_with(kEnd) && type.size() > kBegin.size() + kEnd.size();
}

/// `is_lenient`: as source_json_content_type_error().
std::optional<std::string> content_type_error(const HttpRequest& request,
                                              std::initializer_list<std::string_view> accepted,
                                              bool is_lenient = false) {
  const auto [first, last] = request.headers.equal_range("Content-Type");
  if (first == last) return std::nullopt;
  if (std::next(first) != last) return "The Content-Type header was sent more than once.";
  std::string_view rest = trimmed(first->second);
  if (rest.empty()) return std::nullopt;
  const std::string type = ascii_lower(next_parameter(rest));
  if (std::find(accepted.begin(), accepted.end(), type) == accepted.end() &&
      !(is_lenient && is_json_suffixed(type)))
    return fmt::format("The body's type is \"{}\".", printable(type));
  while (!rest.empty()) {
    const std::string_view parameter = next_parameter(rest);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || ascii_lower(parameter.substr(0, equals)) != "charset") continue;
    if (is_utf8_name(parameter.substr(equals + 1), is_lenient)) continue;
    return fmt::format("The body's charset is {}; only utf-8 is accepted.",
                       printable(parameter.substr(equals + 1)));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> json_content_type_error(const HttpRequest& request) {
  return content_type_error(request, {"application/json"});
}

std::optional<std::string> source_json_content_type_error(const HttpRequest& request) {
  return content_type_error(request, {"application/json", "text/json", "application/x-json", "text/x-json"},
                            true);
}

std::optional<std::string> xml_content_type_error(const HttpRequest& request) {
  return content_type_error(request, {"text/xml", "application/xml"});
}

std::optional<std::string> content_encoding_error(const HttpRequest& request) {
  const auto [first, last] = request.headers.equal_range("Content-Encoding");
  for (auto header = first; header != last; ++header) {
    const std::string_view coding = trimmed(header->second);
    const std::string name = ascii_lower(coding);
    // Not an encoding, but some senders write the charset here.
    if (name.empty() || name == "identity" || name == "utf-8") continue;
    return fmt::format("The body's encoding is \"{}\"; only identity is accepted.", printable(coding));
  }
  return std::nullopt;
}

std::optional<std::string> cookie_of(const HttpRequest& request, std::string_view name) {
  std::optional<std::string> found;
  const auto [first, last] = request.headers.equal_range("Cookie");
  for (auto header = first; header != last; ++header) {
    std::string_view rest = header->second;
    while (!rest.empty()) {
      const std::string_view pair = trimmed(rest.substr(0, rest.find(';')));
      rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
      if (pair.size() <= name.size() || !pair.starts_with(name) || pair[name.size()] != '=') continue;
      if (found) return std::nullopt;
      found = std::string(pair.substr(name.size() + 1));
    }
  }
  return found;
}

bool is_form(const HttpRequest& request) {
  const std::string type = request.header("Content-Type").value_or("");
  return ascii_lower(trimmed(std::string_view(type).substr(0, type.find(';')))) ==
         "application/x-www-form-urlencoded";
}

namespace {

constexpr std::string_view kHeader = "Idempotency-Key";

bool is_printable_ascii(char c) {
  return c >= ' ' && c <= '~';
}

/// The text between the quotation marks of an RFC 8941 string; nullopt for anything else.
std::optional<std::string> parse_quoted(std::string_view value) {
  if (value.size() < 2 || value.back() != '"') return std::nullopt;
  std::string text;
  const std::string_view inside = value.substr(1, value.size() - 2);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == '"') return std::nullopt;
    if (inside[i] == '\\' && (++i == inside.size() || (inside[i] != '"' && inside[i] != '\\')))
      return std::nullopt;
    text += inside[i];
  }
  return text;
}

}  // namespace

tl::expected<std::optional<std::string>, std::string> parse_idempotency_key(const HttpRequest& request) {
  const auto [first, last] = request.headers.equal_range(kHeader);
  if (first == last) return std::optional<std::string>();
  if (std::next(first) != last)
    return tl::make_unexpected("The Idempotency-Key header was sent more than once.");
  const std::string_view value = trimmed(first->second);
  const auto key = value.starts_with('"') ? parse_quoted(value) : std::optional<std::string>(value);
  if (!key) return tl::make_unexpected("The Idempotency-Key header has quotation marks that do not match.");
  if (key->empty()) return tl::make_unexpected("The Idempotency-Key header is empty; omit it or send a key.");
  if (key->size() > kMaxIdempotencyKeyLength) {
    return tl::unexpected(fmt::format("The Idempotency-Key header has {} characters; at most {} are allowed.",
                                      key->size(), kMaxIdempotencyKeyLength));
  }
  if (!std::all_of(key->begin(), key->end(), is_printable_ascii)) {
    return tl::make_unexpected("The Idempotency-Key header may only contain printable ASCII characters.");
  }
  return key;
}

}  // namespace giftsync::http
