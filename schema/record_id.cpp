#include "schema/record_id.h"

#include <algorithm>
#include <cstddef>

namespace giftsync::schema {
namespace {

constexpr std::size_t kShortLength = 15;
constexpr std::size_t kLongLength = 18;
/// Each of the last three characters stands for so many of the others.
constexpr std::size_t kPartLength = 5;

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_letter_or_digit(char c) {
  return is_capital(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

char check_character(std::string_view part) {
  std::size_t capitals = 0;
  for (std::size_t i = 0; i < part.size(); ++i) capitals |= std::size_t{is_capital(part[i])} << i;
  return std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345")[capitals];
}

}  // namespace

std::optional<std::string> long_record_id(std::string_view text) {
  if (text.size() != kShortLength && text.size() != kLongLength) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), is_letter_or_digit)) return std::nullopt;
  std::string id(text.substr(0, kShortLength));
  for (std::size_t at = 0; at < kShortLength; at += kPartLength)
    id += check_character(text.substr(at, kPartLength));
  return text.size() == kShortLength || id == text ? std::optional(id) : std::nullopt;
}

}  // namespace giftsync::schema
