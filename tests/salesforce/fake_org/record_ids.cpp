#include "tests/salesforce/fake_org/record_ids.h"

#include <algorithm>

namespace giftsync::tests::fake_org {
namespace {

constexpr std::size_t kShortLength = 15;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// One character for each five: bit n is set where the n-th of them is a capital letter.
char case_character(std::string_view five) {
  unsigned bits = 0;
  for (std::size_t at = 0; at < five.size(); ++at) {
    if (five[at] >= 'A' && five[at] <= 'Z') bits |= 1U << at;
  }
  return "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[bits];
}

}  // namespace

bool is_record_id(std::string_view text) {
  return (text.size() == kShortLength || text.size() == kShortLength + 3) &&
         std::ranges::all_of(text, is_letter_or_digit);
}

std::string to_long_id(std::string_view id) {
  std::string made(id);
  if (!is_record_id(id) || id.size() != kShortLength) return made;
  for (std::size_t at = 0; at < kShortLength; at += 5) made += case_character(id.substr(at, 5));
  return made;
}

std::string make_record_id(std::string_view key_prefix, std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string digits;
  for (; number > 0; number /= kDigits.size())
    digits.insert(digits.begin(), kDigits[number % kDigits.size()]);
  const std::string head = std::string(key_prefix) + "5g0";
  return to_long_id(head + std::string(kShortLength - head.size() - digits.size(), '0') + digits);
}

}  // namespace giftsync::tests::fake_org
