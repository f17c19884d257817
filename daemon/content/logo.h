// daemon/content: the company's logo (settings: pages.logo). The daemon serves it under a name that contains
// its hash, so that a browser may cache it without limit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace giftsync::daemon::content {

inline constexpr std::size_t kMaxLogoBytes = 200 * 1024;
inline constexpr std::string_view kLogoAllowed = "a PNG, JPEG, WebP or SVG file of at most 200 KiB";

struct Logo {
  std::string bytes;
  std::string type;  ///< "image/png"
  std::string name;  ///< "logo-4f2a8c....png"
};

/// The logo; its type comes from the content, not from the file name. Or what is wrong with it, as a clause
/// that follows its path.
tl::expected<Logo, std::string> read_logo(const std::string& path);

}  // namespace giftsync::daemon::content
