#include "daemon/http/path_pattern.h"

namespace giftsync::daemon::http {

std::optional<std::string_view> match_pattern(std::string_view pattern, std::string_view path) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return path == pattern ? std::optional(path.substr(path.size())) : std::nullopt;
  if (!path.starts_with(pattern.substr(0, open))) return std::nullopt;
  path.remove_prefix(open);
  if (pattern.ends_with("...}")) return path;
  const std::string_view suffix = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= suffix.size() || !path.ends_with(suffix)) return std::nullopt;
  path.remove_suffix(suffix.size());
  return path.find('/') == std::string_view::npos ? std::optional(path) : std::nullopt;
}

}  // namespace giftsync::daemon::http
