#include "schema/contact_normalization.h"

#include <idn2.h>
#include <phonenumbers/phonenumberutil.h>
#include <utf8.h>

#include <algorithm>
#include <memory>
#include <set>

#include "platform/text.h"

namespace giftsync {
namespace {

constexpr std::size_t kMaxAddressOctets = 254;
constexpr std::size_t kMaxLocalPartOctets = 64;
constexpr std::size_t kSubscriberDigits = 7;
constexpr std::size_t kMaxPhoneBytes = 250;  // the parser refuses longer texts, and slowly

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
}

bool is_atom_character(char c) {
  return is_ascii_letter_or_digit(c) ||
         std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos;
}

bool is_dot_atom(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.back() == '.' || text.find("..") != std::string_view::npos)
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '.' || is_atom_character(c); });
}

/// The domain's ASCII form (IDNA 2008), nullopt when it has none. Plain ASCII needs no library: it is the
/// usual case on the request path, and asking costs microseconds.
std::optional<std::string> ascii_domain(std::string_view domain) {
  std::string lower = ascii_lower(domain);
  if (is_ascii(lower) && lower.find("xn--") == std::string::npos) return lower;
  if (lower.find('\0') != std::string::npos) return std::nullopt;  // the library would read up to there
  char* ascii = nullptr;
  const int outcome =
      idn2_to_ascii_8z(std::string(domain).c_str(), &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);
  const std::unique_ptr<char, void (*)(void*)> owner(ascii, idn2_free);
  if (outcome != IDN2_OK) return std::nullopt;
  return ascii_lower(ascii);
}

bool is_host_name(std::string_view ascii) {
  if (ascii.empty() || ascii.size() > 253) return false;
  std::size_t label = 0;
  for (std::size_t i = 0; i <= ascii.size(); ++i) {
    if (i < ascii.size() && ascii[i] != '.') {
      const char c = ascii[i];
      const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (!letter_or_digit && c != '-') return false;
      if (c == '-' && (label == 0 || i + 1 == ascii.size() || ascii[i + 1] == '.')) return false;
      ++label;
      continue;
    }
    if (label == 0 || label > 63) return false;
    label = 0;
  }
  return true;
}

bool is_space(char32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r') ||
         std::find(kWideSpaces.begin(), kWideSpaces.end(), c) != kWideSpaces.end();
}

/// Without white space of any script at both ends.
std::string_view without_spaces(std::string_view text) {
  while (!text.empty()) {
    const char* next = text.data();
    const char* end = next + text.size();
    try {
      if (!is_space(utf8::next(next, end))) break;
    } catch (const utf8::exception&) {
      break;
    }
    text.remove_prefix(static_cast<std::size_t>(next - text.data()));
  }
  while (!text.empty()) {
    const char* last = text.data() + text.size();
    try {
      if (!is_space(utf8::prior(last, text.data()))) break;
    } catch (const utf8::exception&) {
      break;
    }
    text = text.substr(0, static_cast<std::size_t>(last - text.data()));
  }
  return text;
}

/// What people type to fill a field: 555-555-5555, 123-456-7890.
bool is_filler(std::string_view digits) {
  digits.remove_prefix(digits.size() - std::min(digits.size(), kSubscriberDigits));
  const auto step = [&](std::size_t at) { return (digits[at] - digits[at - 1] + 10) % 10; };
  const int first = digits.size() < 2 ? 0 : step(1);
  for (std::size_t i = 2; i < digits.size(); ++i) {
    if (step(i) != first) return false;
  }
  return first == 0 || first == 1 || first == 9;
}

}  // namespace

std::optional<std::string> email_error(std::string_view email) {
  email = trimmed(email);
  if (email.empty()) return "is empty; an e-mail address such as ada@example.com is needed";
  if (email.size() > kMaxAddressOctets) return "is longer than 254 bytes";
  const std::size_t at = email.rfind('@');
  if (at == std::string_view::npos) return "has no @; an e-mail address such as ada@example.com is needed";
  const std::string_view local = email.substr(0, at);
  const std::string_view domain = email.substr(at + 1);
  if (local.size() > kMaxLocalPartOctets) return "has more than 64 bytes before the @";
  if (!is_ascii(local)) return "has non-ASCII letters before the @, which mail servers refuse";
  if (!is_dot_atom(local))
    return "is not a plain address: letters, digits and !#$%&'*+-/=?^_`{|}~ with single dots go before the @";
  if (domain.starts_with('[')) return "names a server by its address; a domain name is needed after the @";
  const std::optional<std::string> ascii = ascii_domain(domain);
  if (!ascii || !is_host_name(*ascii)) return "has no valid domain name after the @";
  if (local.size() + 1 + ascii->size() > kMaxAddressOctets) return "is longer than 254 bytes";
  return std::nullopt;
}

std::string email_key(std::string_view email) {
  email = without_spaces(email);
  const std::size_t at = email.rfind('@');
  if (at == std::string_view::npos || is_ascii(email)) return ascii_lower(email);
  const std::string_view domain = email.substr(at + 1);
  return ascii_lower(email.substr(0, at + 1)) + ascii_domain(domain).value_or(std::string(domain));
}

std::string email_key_in_unicode(const std::string& key) {
  const std::size_t at = key.rfind('@');
  if (at == std::string::npos || key.find("xn--", at) == std::string::npos) return key;
  char* unicode = nullptr;
  const int outcome = idn2_to_unicode_8z8z(key.c_str() + at + 1, &unicode, 0);
  const std::unique_ptr<char, void (*)(void*)> owner(unicode, idn2_free);
  return outcome == IDN2_OK ? key.substr(0, at + 1) + unicode : key;
}

std::string email_to_store(std::string_view email) {
  const std::string_view address = without_spaces(email);
  const std::size_t at = address.rfind('@');
  if (at == std::string_view::npos || is_ascii(address)) return std::string(email);
  const auto domain = ascii_domain(address.substr(at + 1));
  if (!domain || !is_host_name(*domain)) return std::string(email);
  const std::string key = email_key_in_unicode(email_key(address));
  return std::string(address.substr(0, at + 1)) + key.substr(key.rfind('@') + 1);
}

std::string email_for_envelope(std::string_view email) {
  email = trimmed(email);
  const std::size_t at = email.rfind('@');
  if (at == std::string_view::npos || is_ascii(email)) return std::string(email);
  const std::string_view domain = email.substr(at + 1);
  return std::string(email.substr(0, at + 1)) + ascii_domain(domain).value_or(std::string(domain));
}

std::string phone_key(std::string_view phone, std::string_view default_region) {
  using i18n::phonenumbers::PhoneNumber;
  using i18n::phonenumbers::PhoneNumberUtil;
  phone = trimmed(phone);
  if (phone.empty() || phone.size() > kMaxPhoneBytes) return {};
  const PhoneNumberUtil& numbers = *PhoneNumberUtil::GetInstance();
  PhoneNumber number;
  if (numbers.Parse(std::string(phone), std::string(default_region), &number) !=
          PhoneNumberUtil::NO_PARSING_ERROR ||
      !numbers.IsValidNumber(number))
    return {};
  std::string text;
  numbers.Format(number, PhoneNumberUtil::E164, &text);
  return is_filler(text) ? std::string() : text;
}

bool is_phone_region(std::string_view region) {
  std::set<std::string> regions;
  i18n::phonenumbers::PhoneNumberUtil::GetInstance()->GetSupportedRegions(&regions);
  return regions.contains(std::string(region));
}

std::string normalized_domain(std::string_view domain) {
  const std::string address = "a@" + std::string(trimmed(domain));
  if (email_error(address)) return {};
  return email_key(address).substr(2);
}

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

}  // namespace giftsync
