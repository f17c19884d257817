// daemon/pages: the company's logo (settings: pages.logo), a file that the daemon serves itself, under a name
// that tells its content: a browser may keep it for ever.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace giftsync::daemon {

inline constexpr std::size_t kMostLogoBytes = 200 * 1024;
inline constexpr std::string_view kLogoAllowed = "a PNG, JPEG, WebP or SVG file of at most 200 KiB";

struct Logo {
  std::string bytes;
  std::string type;  ///< "image/png"
  std::string name;  ///< "logo-4f2a8c....png"
};

/// The logo, by what is in the file whatever it is called; or what is wrong with it, as a clause that follows
/// its path.
std::variant<Logo, std::string> read_logo(const std::string& path);

}  // namespace giftsync::daemon
