#include "schema/phone_spellings.h"

#include <phonenumbers/phonenumberutil.h>

#include <algorithm>
#include <string_view>

namespace giftsync::schema {
namespace {

using i18n::phonenumbers::PhoneNumber;
using i18n::phonenumbers::PhoneNumberUtil;

constexpr int kNorthAmerica = 1;
constexpr std::size_t kNorthAmericanDigits = 10;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string digits_of(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits), is_digit);
  return digits;
}

/// "(650) 867-3450" as "650.867.3450".
std::string grouped_by(std::string_view text, char separator) {
  std::string grouped;
  for (const char c : text) {
    if (is_digit(c))
      grouped += c;
    else if (!grouped.empty() && grouped.back() != separator)
      grouped += separator;
  }
  return grouped;
}

std::string formatted(const PhoneNumber& number, PhoneNumberUtil::PhoneNumberFormat format) {
  std::string text;
  PhoneNumberUtil::GetInstance()->Format(number, format, &text);
  return text;
}

}  // namespace

std::vector<std::string> phone_spellings(const std::string& key) {
  std::vector<std::string> spellings;
  const auto add = [&](std::string text) {
    const bool is_known = std::find(spellings.begin(), spellings.end(), text) != spellings.end();
    if (!text.empty() && !is_known) spellings.push_back(std::move(text));
  };
  add(key);
  PhoneNumber number;
  const bool is_number = key.starts_with('+') && PhoneNumberUtil::GetInstance()->Parse(key, "ZZ", &number) ==
                                                     PhoneNumberUtil::NO_PARSING_ERROR;
  if (!is_number) return spellings;
  const std::string national = formatted(number, PhoneNumberUtil::NATIONAL);
  const std::string international = formatted(number, PhoneNumberUtil::INTERNATIONAL);
  add(national);
  add(digits_of(national));
  add(digits_of(key));
  add(international);
  add(grouped_by(national, '-'));
  add(grouped_by(national, '.'));
  add(grouped_by(national, ' '));
  const std::string digits = digits_of(national);
  if (number.country_code() == kNorthAmerica && digits.size() == kNorthAmericanDigits) {
    add("1-" + grouped_by(national, '-'));
    add("1 " + national);
    add("+1 " + national);
  }
  return spellings;
}

}  // namespace giftsync::schema
