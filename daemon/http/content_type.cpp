#include "daemon/http/content_type.h"

#include <fmt/format.h>

#include <string_view>

#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kQuotedBytes = 100;

/// The next part of a header value up to an unquoted semicolon, trimmed; `rest` loses it.
std::string_view next_part(std::string_view& rest) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (quoted || rest[end] != ';'); ++end) {
    if (quoted && rest[end] == '\\')
      ++end;
    else if (rest[end] == '"')
      quoted = !quoted;
  }
  end = std::min(end, rest.size());
  const std::string_view part = schema::trimmed(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

bool is_utf8_name(std::string_view charset) {
  if (charset.size() >= 2 && charset.front() == '"' && charset.back() == '"')
    charset = charset.substr(1, charset.size() - 2);
  const std::string name = schema::ascii_lower(charset);
  return name == "utf-8" || name == "utf8";
}

/// The value of a header as a message may show it: ASCII, and not too much of it.
std::string shown(std::string_view value) {
  std::string text(value.substr(0, kQuotedBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace

std::optional<std::string> json_content_fault(const HttpRequest& request) {
  const auto [first, last] = request.headers.equal_range("Content-Type");
  if (first == last) return std::nullopt;
  if (std::next(first) != last) return "The Content-Type header was sent more than once.";
  std::string_view rest = schema::trimmed(first->second);
  if (rest.empty()) return std::nullopt;
  const std::string_view type = next_part(rest);
  if (schema::ascii_lower(type) != "application/json") {
    return fmt::format("The body's type is \"{}\".", shown(type));
  }
  while (!rest.empty()) {
    const std::string_view parameter = next_part(rest);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || schema::ascii_lower(parameter.substr(0, equals)) != "charset")
      continue;
    if (is_utf8_name(parameter.substr(equals + 1))) continue;
    return fmt::format("The body's charset is {}; only utf-8 is read.", shown(parameter.substr(equals + 1)));
  }
  return std::nullopt;
}

std::optional<std::string> content_encoding_fault(const HttpRequest& request) {
  const auto [first, last] = request.headers.equal_range("Content-Encoding");
  for (auto header = first; header != last; ++header) {
    const std::string_view coding = schema::trimmed(header->second);
    const std::string name = schema::ascii_lower(coding);
    // Not a coding at all, but some senders write the charset here.
    if (name.empty() || name == "identity" || name == "utf-8") continue;
    return fmt::format("The body's encoding is \"{}\"; only identity is taken.", shown(coding));
  }
  return std::nullopt;
}

}  // namespace giftsync::daemon
