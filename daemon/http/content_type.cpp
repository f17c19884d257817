#include "daemon/http/content_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "platform/text.h"

namespace giftsync::daemon::http {
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
  const std::string_view part = platform::trimmed(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

/// Of each charset that has a name here, every text is UTF-8.
bool is_utf8_name(std::string_view charset, bool with_ascii) {
  if (charset.size() >= 2 && charset.front() == '"' && charset.back() == '"')
    charset = charset.substr(1, charset.size() - 2);
  const std::string name = platform::ascii_lower(charset);
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
  std::string_view rest = platform::trimmed(first->second);
  if (rest.empty()) return std::nullopt;
  const std::string type = platform::ascii_lower(next_parameter(rest));
  if (std::find(accepted.begin(), accepted.end(), type) == accepted.end() &&
      !(is_lenient && is_json_suffixed(type)))
    return fmt::format("The body's type is \"{}\".", printable(type));
  while (!rest.empty()) {
    const std::string_view parameter = next_parameter(rest);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || platform::ascii_lower(parameter.substr(0, equals)) != "charset")
      continue;
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
    const std::string_view coding = platform::trimmed(header->second);
    const std::string name = platform::ascii_lower(coding);
    // Not an encoding, but some senders write the charset here.
    if (name.empty() || name == "identity" || name == "utf-8") continue;
    return fmt::format("The body's encoding is \"{}\"; only identity is accepted.", printable(coding));
  }
  return std::nullopt;
}

}  // namespace giftsync::daemon::http
