#include "daemon/pages/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace giftsync::daemon {
namespace {

using Rgb = std::array<double, 3>;  // each 0 to 255

constexpr double kReadable = 4.6;  // a little more than the 4.5 that is asked for: shades are rounded
constexpr double kVisible = 3.1;   // of a surface that is no text: 3

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

/// So much of `more` (0 to 1) in `colour`.
std::string mixed(std::string_view colour, std::string_view more, double part) {
  const Rgb a = rgb_of(colour);
  const Rgb b = rgb_of(more);
  Rgb both{};
  for (std::size_t i = 0; i < 3; ++i) both[i] = a[i] + (b[i] - a[i]) * part;
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

/// The colour, moved towards `end` as little as it takes to stand out from each ground.
std::string standing_out(std::string_view colour, std::initializer_list<std::string_view> grounds,
                         std::string_view end, double least) {
  constexpr int kSteps = 50;
  for (int step = 0; step <= kSteps; ++step) {
    std::string shade = mixed(colour, end, static_cast<double>(step) / kSteps);
    const bool stands_out = std::all_of(grounds.begin(), grounds.end(), [&](std::string_view ground) {
      return contrast(shade, ground) >= least;
    });
    if (stands_out) return shade;
  }
  return std::string(end);
}

/// On every colour one of the two can be read.
std::string readable_on(std::string_view ground) {
  return contrast("#ffffff", ground) >= kReadable ? "#ffffff" : "#000000";
}

void add_colour(Shades& shades, std::string_view colour, std::string_view end, double tint) {
  shades.tint = mixed(shades.card, colour, tint);
  shades.accent = standing_out(colour, {shades.ground, shades.card, shades.tint}, end, kReadable);
  shades.button = standing_out(colour, {shades.tint}, end, kVisible);
  shades.on_button = readable_on(shades.button);
}

}  // namespace

double contrast(std::string_view one, std::string_view other) {
  const double a = luminance(one) + 0.05;
  const double b = luminance(other) + 0.05;
  return std::max(a, b) / std::min(a, b);
}

Palette palette_of(std::string_view colour) {
  Palette palette;
  palette.light = {"#f5f3ee", "#ffffff", "", "#1f2328", "#59616b", "#ded9cf", "", "", ""};
  palette.dark = {"#14171a", "#1d2125", "", "#eceae6", "#a9b0b8", "#363c43", "", "", ""};
  add_colour(palette.light, colour, "#000000", 0.07);
  add_colour(palette.dark, colour, "#ffffff", 0.12);
  return palette;
}

}  // namespace giftsync::daemon
