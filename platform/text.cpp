#include "platform/text.h"

#include <Poco/UTF8String.h>
#include <utf8.h>

#include <algorithm>

namespace giftsync {
namespace {

bool begins_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

}  // namespace

bool is_storable_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos && utf8::is_valid(text.begin(), text.end());
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string_view truncated(std::string_view text, std::size_t code_points) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_code_point(text[i]) && ++seen > code_points) return text.substr(0, i);
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhite) - first + 1);
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string lower_case(std::string_view text) {
  return Poco::UTF8::toLower(std::string(text));
}

std::string upper_case(std::string_view text) {
  return Poco::UTF8::toUpper(std::string(text));
}

namespace {

/// Optimal string alignment distance: Levenshtein's with swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distances(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distances[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distances[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = distances[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distances[i][j] = std::min({replaced, distances[i - 1][j] + 1, distances[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) distances[i][j] = std::min(distances[i][j], distances[i - 2][j - 2] + 1);
    }
  }
  return distances[a.size()][b.size()];
}

constexpr std::size_t kMaxWordBytes = 100;

}  // namespace

std::string suggestion_for(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxWordBytes) return {};
  std::string best;
  std::size_t min_distance = static_cast<std::size_t>(-1);
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t max_distance = std::max<std::size_t>(2, candidate.size() / 3);
    if (distance > max_distance || distance >= candidate.size() || distance >= min_distance) continue;
    min_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace giftsync
