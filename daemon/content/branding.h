// daemon/content: what all pages of an installation have in common (settings: pages): the company's name,
// colour and logo.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace giftsync::content {

// The company's logo (settings: pages.logo). The daemon serves it under a name that contains
// its hash, so that a browser may cache it without limit.

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

struct Branding {
  std::string company;  ///< may be empty
  std::string style;    ///< the style sheet, in the company's colour
  std::optional<Logo> logo = {};
  std::string style_source = {};  ///< of `style`, see source_hash()
};

/// 'sha256-...' of CSP Level 3: allows exactly this inline source.
std::string source_hash(std::string_view text);

/// `colour` is "#rrggbb" in lower case. Pure.
Branding make_branding(const std::string& company, const std::string& colour, std::optional<Logo> logo = {});

// Derives a readable color scheme from the company's colour (WCAG 2.2 AA: texts 4.5:1), for
// light and dark background. Pure.

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

}  // namespace giftsync::content
