#include "daemon/identity/return_path.h"

#include <algorithm>

#include "platform/digest.h"

namespace giftsync::daemon::identity {
namespace {

constexpr std::size_t kMaxBytes = 500;

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

/// Whether the text begins with the escape of a character that may be in a name.
bool begins_with_harmless_escape(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return false;
  const auto bytes = platform::from_hex(text.substr(1, 2));
  if (!bytes) return false;
  const auto byte = static_cast<unsigned char>(bytes->front());
  return byte >= ' ' && byte != 0x7f && byte != '/' && byte != '\\' && byte != '.' && byte != '%';
}

bool is_path(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const bool is_escape = begins_with_harmless_escape(text.substr(i));
    if (!is_escape && !is_path_character(text[i])) return false;
    i += is_escape ? 3 : 1;
  }
  return text.find("//") == std::string_view::npos && text.find("/.") == std::string_view::npos;
}

bool is_query_character(char c) {
  return c > ' ' && c < '\x7f' && c != '\\' && c != '#' && c != '"' && c != '<' && c != '>';
}

}  // namespace

std::string safe_return_path(std::string_view base, std::string_view text) {
  const std::string first_page = std::string(base) + "/";
  const std::size_t question = std::min(text.find('?'), text.size());
  const std::string_view path = text.substr(0, question);
  const std::string_view query = text.substr(question);
  const bool is_safe = text.size() <= kMaxBytes && path.starts_with(first_page) && is_path(path) &&
                       std::all_of(query.begin(), query.end(), is_query_character);
  return is_safe ? std::string(text) : first_page;
}

}  // namespace giftsync::daemon::identity
