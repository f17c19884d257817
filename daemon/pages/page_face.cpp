#include "daemon/pages/page_face.h"

#include <fmt/format.h>

#include "daemon/pages/palette.h"
#include "embedded/giftsync_daemon.h"

namespace giftsync::daemon {
namespace {

std::string variables(const Shades& shades) {
  return fmt::format(
      ":root{{--ground:{};--card:{};--tint:{};--text:{};--quiet:{};--line:{};--accent:{};--button:{};"
      "--on-button:{}}}",
      shades.ground, shades.card, shades.tint, shades.text, shades.quiet, shades.line, shades.accent,
      shades.button, shades.on_button);
}

}  // namespace

PageFace page_face(const std::string& company, const std::string& colour, std::optional<Logo> logo) {
  const Palette palette = palette_of(colour);
  PageFace face;
  face.company = company;
  face.logo = std::move(logo);
  face.style = fmt::format("{}\n@media(prefers-color-scheme:dark){{{}}}\n{}", variables(palette.light),
                           variables(palette.dark), embedded::web_page_css);
  return face;
}

}  // namespace giftsync::daemon
