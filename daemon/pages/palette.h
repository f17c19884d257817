// daemon/pages: the shades of the company's colour in which everything can be read (WCAG 2.2 AA:
// texts 4.5:1), on light and on dark ground. Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon {

/// Colours as "#rrggbb".
struct Shades {
  std::string ground;
  std::string card;
  std::string tint;  ///< the ground of what the page asks
  std::string text;
  std::string quiet;
  std::string line;
  std::string accent;     ///< links and marks
  std::string button;     ///< the company's colour where it can be
  std::string on_button;  ///< its text
};

struct Palette {
  Shades light;
  Shades dark;
};

/// `colour` is "#rrggbb" in lower case (settings: pages.colour).
Palette palette_of(std::string_view colour);

/// The contrast of two colours by WCAG: 1 to 21.
double contrast(std::string_view one, std::string_view other);

}  // namespace giftsync::daemon
