#include "daemon/http/placeholder.h"

#include <algorithm>
#include <array>
#include <string>

#include "schema/text.h"

namespace giftsync::daemon {
namespace {

/// A merge field's name with its default and format is rarely longer; it bounds the search for the closing
/// delimiter.
constexpr std::size_t kLongestInside = 100;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool has_letter_or_digit(std::string_view inside) {
  return std::any_of(inside.begin(), inside.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

/// first_name, Contact.FirstName, lead.First Name, first_name|there
bool begins_like_a_name(std::string_view inside) {
  return !inside.empty() && (is_letter(inside.front()) || inside.front() == '_');
}

/// first_name, Contact.FirstName, but no words of a sentence
bool is_identifier(std::string_view inside) {
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-'; };
  return begins_like_a_name(inside) && std::all_of(inside.begin(), inside.end(), allowed);
}

/// FIRST_NAME, GIFT_ID2: capitals with at least one underscore between them.
bool is_upper_case_words(std::string_view inside) {
  const auto allowed = [](char c) { return is_upper(c) || is_digit(c) || c == '_'; };
  return !inside.empty() && is_upper(inside.front()) && inside.back() != '_' &&
         inside.find('_') != std::string_view::npos && std::all_of(inside.begin(), inside.end(), allowed);
}

/// "First Name", "first-name" and "FIRSTNAME" are all "firstname".
std::string without_separators(std::string_view inside) {
  std::string word = schema::ascii_lower(inside);
  word.erase(std::remove_if(word.begin(), word.end(),
                            [](char c) { return c == ' ' || c == '_' || c == '-' || c == '.'; }),
             word.end());
  return word;
}

bool is_usual_field(std::string_view inside) {
  constexpr std::array<std::string_view, 36> kUsualFields{"accountname",
                                                          "company",
                                                          "companyname",
                                                          "contact",
                                                          "contactfirstname",
                                                          "contactname",
                                                          "customer",
                                                          "customername",
                                                          "email",
                                                          "emailaddress",
                                                          "firstname",
                                                          "fname",
                                                          "fullname",
                                                          "giftname",
                                                          "jobtitle",
                                                          "lastname",
                                                          "leadname",
                                                          "lname",
                                                          "name",
                                                          "nickname",
                                                          "recipient",
                                                          "recipientemail",
                                                          "recipientfirstname",
                                                          "recipientname",
                                                          "repname",
                                                          "salutation",
                                                          "sender",
                                                          "senderfirstname",
                                                          "sendername",
                                                          "surname",
                                                          "username",
                                                          "yourcompany",
                                                          "yourcompanyname",
                                                          "yourfirstname",
                                                          "yourname",
                                                          "yourtitle"};
  static_assert(std::is_sorted(kUsualFields.begin(), kUsualFields.end()));
  return std::binary_search(kUsualFields.begin(), kUsualFields.end(), without_separators(inside));
}

bool is_field_between_brackets(std::string_view inside) {
  return is_upper_case_words(inside) || is_usual_field(inside);
}

struct Delimiters {
  std::string_view open;
  std::string_view close;
  bool (*counts)(std::string_view inside);
};

/// The longer of two that begin alike comes first.
constexpr std::array<Delimiters, 15> kDelimiters{{
    {"{{{", "}}}", has_letter_or_digit},  // Handlebars and Salesforce, unescaped
    {"{{", "}}", has_letter_or_digit},    // Handlebars, Liquid, Marketo, HubSpot, Braze
    {"{%", "%}", begins_like_a_name},     // Liquid, Jinja
    {"{!", "}", begins_like_a_name},      // Salesforce
    {"${", "}", begins_like_a_name},      // shells, FreeMarker, Marketo
    {"@{", "}", begins_like_a_name},      // Power Automate
    {"<%", "%>", has_letter_or_digit},    // ERB, ASP
    {"%%", "%%", is_identifier},          // Salesforce Marketing Cloud, Pardot
    {"*|", "|*", begins_like_a_name},     // Mailchimp
    {"[[", "]]", begins_like_a_name},     // GetResponse, Sendy
    {"{", "}", is_field_between_brackets},
    {"<", ">", is_field_between_brackets},
    {"[", "]", is_field_between_brackets},
    {"%", "%", is_field_between_brackets},                // ActiveCampaign
    {"\xC2\xAB", "\xC2\xBB", is_field_between_brackets},  // word processors
}};

constexpr bool may_open(char c) {
  return c == '{' || c == '$' || c == '@' || c == '<' || c == '%' || c == '*' || c == '[' || c == '\xC2';
}
static_assert(std::all_of(kDelimiters.begin(), kDelimiters.end(),
                          [](const Delimiters& delimiters) { return may_open(delimiters.open.front()); }));

/// The placeholder with these delimiters at the beginning of `text`.
std::optional<std::string_view> at_start(std::string_view text, const Delimiters& delimiters) {
  if (text.substr(0, delimiters.open.size()) != delimiters.open) return std::nullopt;
  const std::string_view rest = text.substr(delimiters.open.size(), kLongestInside + delimiters.close.size());
  const std::size_t end = rest.find(delimiters.close);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = schema::trimmed(rest.substr(0, end));
  if (inside.find('\n') != std::string_view::npos || !delimiters.counts(inside)) return std::nullopt;
  return text.substr(0, delimiters.open.size() + end + delimiters.close.size());
}

}  // namespace

std::optional<std::string_view> find_placeholder(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_open(text[at])) continue;
    for (const Delimiters& delimiters : kDelimiters) {
      if (const auto found = at_start(text.substr(at), delimiters)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace giftsync::daemon
