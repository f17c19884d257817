#include "daemon/identity/return_path.h"

#include <algorithm>

namespace giftsync::daemon::identity {
namespace {

constexpr std::size_t kMaxBytes = 500;

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '-' ||
         c == '_' || c == '.' || c == '~';
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
  const bool is_safe = text.size() <= kMaxBytes && path.starts_with(first_page) &&
                       std::all_of(path.begin(), path.end(), is_path_character) &&
                       std::all_of(query.begin(), query.end(), is_query_character) &&
                       path.find("//") == std::string_view::npos && path.find("/.") == std::string_view::npos;
  return is_safe ? std::string(text) : first_page;
}

}  // namespace giftsync::daemon::identity
