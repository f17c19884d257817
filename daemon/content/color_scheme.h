// daemon/content: derives a readable color scheme from the company's colour (WCAG 2.2 AA: texts 4.5:1), for
// light and dark background. Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon::content {

/// Colours as "#rrggbb".
struct Colors {
  std::string background;
  std::string surface;
  std::string highlight;  ///< the background of the page's question
  std::string text;
  std::string muted_text;
  std::string border;
  std::string accent;       ///< links and marks
  std::string button;       ///< the company's colour if it is readable
  std::string button_text;  ///< text on the button
};

struct ColorScheme {
  Colors light;
  Colors dark;
};

/// `colour` is "#rrggbb" in lower case (settings: pages.colour).
ColorScheme color_scheme_of(std::string_view colour);

/// The contrast of two colours by WCAG: 1 to 21.
double contrast(std::string_view one, std::string_view other);

}  // namespace giftsync::daemon::content
