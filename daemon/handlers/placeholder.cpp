#include "daemon/handlers/placeholder.h"

#include <algorithm>
#include <array>
#include <string>

#include "platform/text.h"

namespace giftsync::daemon::handlers {
namespace {

/// A merge field's name with its default and format is rarely longer. Limits the search for the closing
/// delimiter.
constexpr std::size_t kMaxInside = 100;

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool has_letter_or_digit(std::string_view inside) {
  return std::any_of(inside.begin(), inside.end(), platform::is_ascii_letter_or_digit);
}

/// first_name, Contact.FirstName, lead.First Name, first_name|there
bool starts_like_name(std::string_view inside) {
  return !inside.empty() && (platform::is_ascii_letter(inside.front()) || inside.front() == '_');
}

/// first_name, Contact.FirstName, but not the words of a sentence
bool is_identifier(std::string_view inside) {
  const auto allowed = [](char c) {
    return platform::is_ascii_letter_or_digit(c) || c == '_' || c == '.' || c == '-';
  };
  return starts_like_name(inside) && std::all_of(inside.begin(), inside.end(), allowed);
}

/// FIRST_NAME, GIFT_ID2: capitals with at least one underscore between them.
bool is_upper_case_words(std::string_view inside) {
  const auto allowed = [](char c) { return is_upper(c) || is_digit(c) || c == '_'; };
  return !inside.empty() && is_upper(inside.front()) && inside.back() != '_' &&
         inside.find('_') != std::string_view::npos && std::all_of(inside.begin(), inside.end(), allowed);
}

/// "First Name", "first-name" and "FIRSTNAME" are all "firstname".
std::string without_separators(std::string_view inside) {
  std::string word = platform::ascii_lower(inside);
  word.erase(std::remove_if(word.begin(), word.end(),
                            [](char c) { return c == ' ' || c == '_' || c == '-' || c == '.'; }),
             word.end());
  return word;
}

bool is_common_field_name(std::string_view inside) {
  constexpr std::string_view kCommonFieldNames =
      " accountname company companyname contact contactfirstname contactname customer customername email "
      "emailaddress firstname fname fullname giftname jobtitle lastname leadname lname name nickname "
      "recipient "
      "recipientemail recipientfirstname recipientname repname salutation sender senderfirstname sendername "
      "surname username yourcompany yourcompanyname yourfirstname yourname yourtitle ";
  return kCommonFieldNames.find(" " + without_separators(inside) + " ") != std::string_view::npos;
}

bool is_bracketed_field(std::string_view inside) {
  return is_upper_case_words(inside) || is_common_field_name(inside);
}

struct Delimiters {
  std::string_view open;
  std::string_view close;
  bool (*is_placeholder)(std::string_view inside);
};

/// Of two delimiters with the same beginning the longer one comes first.
constexpr std::array<Delimiters, 15> kDelimiters{{
    {"{{{", "}}}", has_letter_or_digit},  // Handlebars and Salesforce, unescaped
    {"{{", "}}", has_letter_or_digit},    // Handlebars, Liquid, Marketo, HubSpot, Braze
    {"{%", "%}", starts_like_name},       // Liquid, Jinja
    {"{!", "}", starts_like_name},        // Salesforce
    {"${", "}", starts_like_name},        // shells, FreeMarker, Marketo
    {"@{", "}", starts_like_name},        // Power Automate
    {"<%", "%>", has_letter_or_digit},    // ERB, ASP
    {"%%", "%%", is_identifier},          // Salesforce Marketing Cloud, Pardot
    {"*|", "|*", starts_like_name},       // Mailchimp
    {"[[", "]]", starts_like_name},       // GetResponse, Sendy
    {"{", "}", is_bracketed_field},
    {"<", ">", is_bracketed_field},
    {"[", "]", is_bracketed_field},
    {"%", "%", is_bracketed_field},                // ActiveCampaign
    {"\xC2\xAB", "\xC2\xBB", is_bracketed_field},  // word processors
}};

constexpr bool may_begin_placeholder(char c) {
  return c == '{' || c == '$' || c == '@' || c == '<' || c == '%' || c == '*' || c == '[' || c == '\xC2';
}
static_assert(std::all_of(kDelimiters.begin(), kDelimiters.end(), [](const Delimiters& delimiters) {
  return may_begin_placeholder(delimiters.open.front());
}));

/// The placeholder with these delimiters at the beginning of `text`.
std::optional<std::string_view> match_at_start(std::string_view text, const Delimiters& delimiters) {
  if (text.substr(0, delimiters.open.size()) != delimiters.open) return std::nullopt;
  const std::string_view rest = text.substr(delimiters.open.size(), kMaxInside + delimiters.close.size());
  const std::size_t end = rest.find(delimiters.close);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = platform::trimmed(rest.substr(0, end));
  if (inside.find('\n') != std::string_view::npos || !delimiters.is_placeholder(inside)) return std::nullopt;
  return text.substr(0, delimiters.open.size() + end + delimiters.close.size());
}

}  // namespace

std::optional<std::string_view> find_placeholder(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_begin_placeholder(text[at])) continue;
    for (const Delimiters& delimiters : kDelimiters) {
      if (const auto found = match_at_start(text.substr(at), delimiters)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace giftsync::daemon::handlers
