#include "schema/picture_url.h"

#include <string_view>

namespace giftsync {

std::string csp_image_source(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?[]@!$&()*+=%";
  if (!url.starts_with(kScheme) || url.find_first_not_of(kAllowed) != std::string::npos) return {};
  const std::string_view host =
      std::string_view(url).substr(kScheme.size(), url.find('/', kScheme.size()) - kScheme.size());
  if (host.empty() || host.find_first_of("@?*") != std::string_view::npos) return {};
  return url.substr(0, url.find('?'));
}

}  // namespace giftsync
