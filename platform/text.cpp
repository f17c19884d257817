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

}  // namespace giftsync
