#include "daemon/content/branding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>

#include "embedded/giftsync_daemon_content.h"
#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::content {
namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view type;
  std::string_view extension;
};

bool is_svg(std::string_view bytes) {
  if (!is_storable_text(bytes)) return false;
  const std::string_view text = trimmed(without_byte_order_mark(bytes));
  const bool begins = text.starts_with("<svg") || text.starts_with("<?xml") || text.starts_with("<!");
  return begins && text.find("<svg") != std::string_view::npos;
}

/// By the first bytes; empty for an unsupported type.
Kind kind_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return {"image/png", ".png"};
  if (bytes.starts_with("\xFF\xD8\xFF"sv)) return {"image/jpeg", ".jpg"};
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv)) return {"image/webp", ".webp"};
  if (is_svg(bytes)) return {"image/svg+xml", ".svg"};
  return {};
}

}  // namespace

tl::expected<Logo, std::string> read_logo(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMaxLogoBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.is_open() || file.bad()) return tl::make_unexpected("which cannot be read");
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.size() > kMaxLogoBytes) return tl::make_unexpected("which is larger than 200 KiB");
  const Kind kind = kind_of(bytes);
  if (kind.type.empty()) return tl::make_unexpected("which is not a supported picture");
  const std::string name = "logo-" + sha256_hex(bytes).substr(0, 20) + std::string(kind.extension);
  return Logo{std::move(bytes), std::string(kind.type), name};
}

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
  return "'sha256-" + to_base64_text(sha256(text)) + "'";
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

namespace {

using Rgb = std::array<double, 3>;  // each 0 to 255

constexpr double kMinTextContrast = 4.6;     // a little more than the required 4.5: colors are rounded
constexpr double kMinSurfaceContrast = 3.1;  // for surfaces WCAG requires 3

Rgb rgb_of(std::string_view colour) {
  Rgb rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    int value = 0;
    const char* digits = colour.data() + 1 + 2 * i;
    std::from_chars(digits, digits + 2, value, 16);
    rgb[i] = value;
  }
  return rgb;
}

std::string hex_of(const Rgb& rgb) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(rgb[0]), std::lround(rgb[1]), std::lround(rgb[2]));
}

/// `colour` mixed with a `share` (0 to 1) of `more`.
std::string mix(std::string_view colour, std::string_view more, double share) {
  const Rgb a = rgb_of(colour);
  const Rgb b = rgb_of(more);
  Rgb both{};
  for (std::size_t i = 0; i < 3; ++i) both[i] = a[i] + (b[i] - a[i]) * share;
  return hex_of(both);
}

double luminance(std::string_view colour) {
  const Rgb rgb = rgb_of(colour);
  std::array<double, 3> linear{};
  std::transform(rgb.begin(), rgb.end(), linear.begin(), [](double value) {
    const double share = value / 255;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/// The colour, mixed with as little of `end` as is needed for the contrast with each background.
std::string with_contrast(std::string_view colour, std::initializer_list<std::string_view> backgrounds,
                          std::string_view end, double min_contrast) {
  constexpr int kSteps = 50;
  for (int step = 0; step <= kSteps; ++step) {
    std::string shade = mix(colour, end, static_cast<double>(step) / kSteps);
    const bool has_contrast =
        std::all_of(backgrounds.begin(), backgrounds.end(),
                    [&](std::string_view background) { return contrast(shade, background) >= min_contrast; });
    if (has_contrast) return shade;
  }
  return std::string(end);
}

/// One of the two is readable on every colour.
std::string readable_text_color(std::string_view background) {
  return contrast("#ffffff", background) >= kMinTextContrast ? "#ffffff" : "#000000";
}

void add_colour(Colors& colors, std::string_view colour, std::string_view end, double highlight) {
  colors.highlight = mix(colors.surface, colour, highlight);
  colors.accent =
      with_contrast(colour, {colors.background, colors.surface, colors.highlight}, end, kMinTextContrast);
  colors.button = with_contrast(colour, {colors.highlight}, end, kMinSurfaceContrast);
  colors.button_text = readable_text_color(colors.button);
}

}  // namespace

double contrast(std::string_view one, std::string_view other) {
  const double a = luminance(one) + 0.05;
  const double b = luminance(other) + 0.05;
  return std::max(a, b) / std::min(a, b);
}

ColorScheme color_scheme_of(std::string_view colour) {
  ColorScheme color_scheme;
  color_scheme.light = {"#f5f3ee", "#ffffff", "", "#1f2328", "#59616b", "#ded9cf", "", "", ""};
  color_scheme.dark = {"#14171a", "#1d2125", "", "#eceae6", "#a9b0b8", "#363c43", "", "", ""};
  add_colour(color_scheme.light, colour, "#000000", 0.07);
  add_colour(color_scheme.dark, colour, "#ffffff", 0.12);
  return color_scheme;
}

}  // namespace giftsync::content
