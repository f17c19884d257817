#include "platform/quoted_text.h"

#include <algorithm>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::platform {
namespace {

constexpr std::size_t kShownCodePoints = 80;

constexpr const char* kRedacted = "********";

/// User, password and query of a URL may be secrets.
std::string without_url_secrets(std::string_view text) {
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return std::string(text);
  const std::size_t at = text.rfind('@');
  const bool has_user = at != std::string_view::npos && at > scheme_end;
  const std::size_t host = has_user ? at : scheme_end + 3;
  const std::size_t query = text.find('?', host);
  const bool has_query = query != std::string_view::npos && query + 1 < text.size();
  return std::string(text.substr(0, scheme_end + 3)) + (has_user ? kRedacted : "") +
         std::string(text.substr(host, has_query ? query + 1 - host : text.size())) +
         (has_query ? kRedacted : "");
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const std::string safe = without_url_secrets(text);
  const std::string_view shown = truncated(safe, kShownCodePoints);
  std::string escaped;
  for (const char c : shown) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "\"" + visible_text(escaped) + (shown.size() < safe.size() ? "...\"" : "\"");
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_ascii_letter_or_digit(c) || std::string_view("@%_-+=:,./").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) c == '\'' ? word.append("'\\''") : word.append(1, c);
  return word + "'";
}

}  // namespace giftsync::platform
