#include "daemon/content/branding.h"

#include <fmt/format.h>

#include "daemon/content/color_scheme.h"
#include "embedded/giftsync_daemon_content.h"
#include "platform/digest.h"

namespace giftsync::daemon::content {
namespace {

std::string variables(const Colors& colors) {
  return fmt::format(
      ":root{{--background:{};--surface:{};--highlight:{};--text:{};--muted-text:{};--border:{};--accent:{};-"
      "-button:{};"
      "--button-text:{}}}",
      colors.background, colors.surface, colors.highlight, colors.text, colors.muted_text, colors.border,
      colors.accent, colors.button, colors.button_text);
}

}  // namespace

std::string source_hash(std::string_view text) {
  return "'sha256-" + platform::to_base64_text(platform::sha256(text)) + "'";
}

Branding make_branding(const std::string& company, const std::string& colour, std::optional<Logo> logo) {
  const ColorScheme color_scheme = color_scheme_of(colour);
  Branding branding;
  branding.company = company;
  branding.logo = std::move(logo);
  branding.style =
      fmt::format("{}\n@media(prefers-color-scheme:dark){{{}}}\n{}", variables(color_scheme.light),
                  variables(color_scheme.dark), embedded::web_page_css);
  branding.style_source = source_hash(branding.style);
  return branding;
}

}  // namespace giftsync::daemon::content
