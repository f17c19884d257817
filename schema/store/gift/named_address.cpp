#include "schema/store/gift/named_address.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::store {
namespace {

/// Enough for the character before an address and what joins both.
constexpr std::size_t kMaxBefore = 64;

std::string utf8_of(unsigned code) {
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

/// The text, in lower case, with its escapes as characters: of JSON as in "\nana@example.com" and
/// "x\u002bana@example.com", of URLs as in "%3Cana@example.com".
std::string without_escapes(std::string_view text) {
  std::string plain;
  const auto take_hex = [&](std::string_view mark, std::size_t digits) {
    if (!text.starts_with(mark) || text.size() < mark.size() + digits) return false;
    const std::string hex(text.substr(mark.size(), digits));
    if (hex.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
    const auto code = static_cast<unsigned>(std::stoul(hex, nullptr, 16));
    plain += digits == 2 ? std::string(1, static_cast<char>(code)) : utf8_of(code);
    text.remove_prefix(mark.size() + digits);
    return true;
  };
  while (!text.empty()) {
    if (take_hex("%", 2) || take_hex("\\u", 4)) continue;
    const bool is_space = text.size() > 1 && text.front() == '\\' &&
                          std::string_view("nrtbf").find(text[1]) != std::string_view::npos;
    plain += is_space ? ' ' : text.front();
    text.remove_prefix(is_space ? 2 : 1);
  }
  return plain;
}

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Of more than a byte, letters are those before U+2000: typographic quotes, wide spaces and signs end an
/// address, and so do the scripts that are written without spaces.
bool ends_with_letter_or_digit(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (text.empty()) return false;
  std::size_t lead = text.size() - 1;
  if (byte(lead) < 0x80) return is_letter_or_digit(text[lead]);
  while (lead > 0 && (byte(lead) & 0xC0) == 0x80) --lead;
  if (lead + 1 == text.size()) return false;  // no UTF-8
  const unsigned char second = byte(lead + 1);
  if (byte(lead) == 0xC2) return second == 0xAA || second == 0xB5 || second == 0xBA;
  if (byte(lead) == 0xC3) return second != 0x97 && second != 0xB7;
  return byte(lead) >= 0xC4 && byte(lead) <= 0xE1;
}

/// Whether the text, in lower case, from `begin` to `end` is no part of a longer address.
bool is_whole_address(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t from = begin - std::min(begin, kMaxBefore);
  const std::string before = without_escapes(text.substr(from, begin - from));
  // "mary-ana@example.com" and "o'ana@example.com" are other addresses; the hyphen of "- ana" and "-ana"
  // begins a list. What separates in URLs and tables joins nothing: "to=ana@example.com".
  const std::size_t joined = before.find_last_not_of("._+-'!#$%*^`~");
  if (joined != std::string::npos &&
      ends_with_letter_or_digit(std::string_view(before).substr(0, joined + 1)))
    return false;
  const std::size_t next = text.find_first_not_of(".-", end);
  return next == std::string_view::npos || !is_letter_or_digit(text[next]) || next > end + 1;
}

/// Where the text names the address next, from `from` on.
struct Place {
  std::size_t begin = std::string::npos;
  std::size_t end = 0;
};
Place find_address(std::string_view lower, const std::vector<std::string>& spellings, std::size_t from) {
  Place first;
  for (const std::string& spelling : spellings) {
    for (std::size_t at = lower.find(spelling, from); at != std::string_view::npos;
         at = lower.find(spelling, at + 1)) {
      if (!is_whole_address(lower, at, at + spelling.size())) continue;
      if (at < first.begin) first = {at, at + spelling.size()};
      break;
    }
  }
  return first;
}

}  // namespace

std::vector<std::string> address_spellings(const std::string& address_key) {
  std::set<std::string> spellings;
  for (const std::string& form : {address_key, email_key_in_unicode(address_key)}) {
    spellings.insert(form);
    std::string escaped = form;
    const std::size_t at = escaped.rfind('@');
    if (at != std::string::npos) spellings.insert(escaped.replace(at, 1, "%40"));
    for (std::size_t plus = escaped.find('+'); plus != std::string::npos; plus = escaped.find('+'))
      escaped.replace(plus, 1, "%2b");
    spellings.insert(escaped);
  }
  spellings.erase("");
  return {spellings.begin(), spellings.end()};
}

bool names_address(std::string_view text, const std::string& address_key) {
  return find_address(ascii_lower(text), address_spellings(address_key), 0).begin != std::string::npos;
}

std::string address_replaced(const std::string& text, const std::string& address_key,
                             const std::string& mark) {
  const std::vector<std::string> spellings = address_spellings(address_key);
  const std::string lower = ascii_lower(text);
  std::string marked;
  std::size_t from = 0;
  for (Place place = find_address(lower, spellings, 0); place.begin != std::string::npos;
       place = find_address(lower, spellings, from)) {
    marked += text.substr(from, place.begin - from) + mark;
    from = place.end;
  }
  return marked + text.substr(from);
}

}  // namespace giftsync::store
