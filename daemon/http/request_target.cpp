#include "daemon/http/request_target.h"

#include <algorithm>

#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::daemon::http {
namespace {

bool is_visible_ascii(char c) {
  return c > 0x20 && c < 0x7F;
}
bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/// False for a "%" without two hexadecimal digits after it.
bool percent_decode(std::string_view encoded, std::string& decoded) {
  decoded.clear();
  decoded.reserve(encoded.size());
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      decoded += encoded[i];
      continue;
    }
    const auto byte = platform::from_hex(encoded.substr(i + 1, 2));
    if (!byte || byte->empty()) return false;
    decoded += *byte;
    i += 2;
  }
  return true;
}

/// Splits "http://host/path" into authority and rest; false for another scheme or an empty authority.
bool split_absolute_form(std::string_view& raw, std::string& authority) {
  const std::size_t colon = raw.find("://");
  if (colon == std::string_view::npos) return false;
  const std::string scheme = platform::ascii_lower(raw.substr(0, colon));
  if (scheme != "http" && scheme != "https") return false;
  raw.remove_prefix(colon + 3);
  const std::size_t end = std::min(raw.find_first_of("/?"), raw.size());
  authority = raw.substr(0, end);
  raw.remove_prefix(end);
  return is_host_header_value(authority);
}

}  // namespace

bool is_host_header_value(std::string_view host) {
  constexpr std::string_view kOtherHostCharacters = "-._~%:[]";
  return !host.empty() && std::all_of(host.begin(), host.end(), [&](char c) {
    return platform::is_ascii_letter_or_digit(c) || kOtherHostCharacters.find(c) != std::string_view::npos;
  });
}

std::string_view parse_request_target(std::string_view raw, RequestTarget& target) {
  if (raw.size() > kMaxTargetBytes) return "The request target is longer than 8,192 bytes.";
  if (!std::all_of(raw.begin(), raw.end(), is_visible_ascii) || raw.find('#') != std::string_view::npos) {
    return "The request target has a character that must be percent-encoded.";
  }
  target.authority.clear();
  if (raw.empty() || (raw.front() != '/' && !split_absolute_form(raw, target.authority))) {
    return "The request target is neither a path that begins with \"/\" nor an absolute http(s) URL.";
  }
  const std::size_t question = std::min(raw.find('?'), raw.size());
  target.query = raw.substr(std::min(question + 1, raw.size()));
  const std::string_view path = raw.substr(0, question);
  if (!percent_decode(path.empty() ? "/" : path, target.path)) {
    return "The path has a \"%\" that two hexadecimal digits do not follow.";
  }
  if (std::any_of(target.path.begin(), target.path.end(), is_control)) {
    return "The path has a percent-encoded control character.";
  }
  if (!platform::is_storable_text(target.path)) return "The path is not UTF-8 once percent-decoded.";
  return {};
}

}  // namespace giftsync::daemon::http
