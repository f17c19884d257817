#include "daemon/http/idempotency_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "platform/text.h"

namespace giftsync::daemon::http {
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
  const std::string_view value = platform::trimmed(first->second);
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

}  // namespace giftsync::daemon::http
