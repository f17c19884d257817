#include "daemon/validation/placeholders.h"

#include <algorithm>
#include <array>
#include <string>

#include "platform/text.h"

namespace giftsync::validation {
namespace {

/// A merge field's name with its default and format is rarely longer. Limits the search for the closing
/// delimiter.
constexpr std::size_t kMaxInside = 100;

/// Shorter ones are emoticons: T_T
constexpr std::size_t kMinJoinedWords = 6;

bool is_upper_or_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// The first byte of a character in UTF-8 distinguishes the letters of other scripts from symbols and emoji.
bool has_letter_or_digit(std::string_view inside) {
  return std::any_of(inside.begin(), inside.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return is_ascii_letter_or_digit(c) || (byte >= 0xC3 && byte <= 0xED && byte != 0xE2);
  });
}

/// first_name, Contact.FirstName, lead.First Name, first_name|there, $Record.Name
bool starts_like_name(std::string_view inside) {
  if (!inside.empty() && std::string_view("$!#-").find(inside.front()) != std::string_view::npos)
    inside.remove_prefix(1);
  return !inside.empty() && (is_ascii_letter(inside.front()) || inside.front() == '_');
}

/// first_name, Contact.FirstName, but not the words of a sentence
bool is_identifier(std::string_view inside) {
  const auto allowed = [](char c) { return is_ascii_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; };
  return starts_like_name(inside) && std::all_of(inside.begin(), inside.end(), allowed);
}

/// gift_link, Opportunity_Name
bool is_joined_words(std::string_view inside) {
  return is_identifier(inside) && inside.size() >= kMinJoinedWords &&
         inside.substr(1, inside.size() - 2).find('_') != std::string_view::npos;
}

/// FIRST_NAME, GIFT_ID2
bool is_upper_case_words(std::string_view inside) {
  const auto allowed = [](char c) { return is_upper_or_digit(c) || c == '_'; };
  return is_joined_words(inside) && is_upper_or_digit(inside.front()) && inside.back() != '_' &&
         std::all_of(inside.begin(), inside.end(), allowed);
}

/// "First Name", "first-name" and "FIRSTNAME" are all "firstname", "Client's Name" is "clientsname".
std::string without_separators(std::string_view inside) {
  constexpr std::string_view kSeparators = " _-.'\u2019";
  std::string word = ascii_lower(inside);
  std::erase_if(word, [&](char c) { return kSeparators.find(c) != std::string_view::npos; });
  return word;
}

/// Also with a default behind it: FirstName|there, firstname,fallback=there
bool is_common_field_name(std::string_view inside) {
  constexpr std::string_view kCommonFieldNames =
      " accountname apellido apellidos clientname clientsname company companyname contact contactfirstname "
      "contactname contactsname customer customername customersname email emailaddress firstname fname "
      "fullname giftname insertfirstname insertname jobtitle lastname leadname lname nachname name nickname "
      "nombre prospectname recipient recipientemail recipientfirstname recipientname recipientsname repname "
      "salutation sender senderfirstname sendername surname username vorname yourcompany yourcompanyname "
      "yourfirstname yourfullname yourjobtitle yourname yourposition yourtitle ";
  const std::string_view name = inside.substr(0, std::min(inside.find('|'), inside.find(",fallback")));
  return kCommonFieldNames.find(" " + without_separators(name) + " ") != std::string_view::npos;
}

bool is_bracketed_field(std::string_view inside) {
  return is_upper_case_words(inside) || is_common_field_name(inside);
}

bool is_joined_field(std::string_view inside) {
  return is_joined_words(inside) || is_common_field_name(inside);
}

bool is_marketing_cloud_field(std::string_view inside) {
  return is_identifier(inside) || is_common_field_name(inside);
}

/// firstname, custom "city", FIRSTNAME OR "there"
bool is_double_bracketed_field(std::string_view inside) {
  return is_joined_field(inside) || (starts_like_name(inside) && inside.back() == '"');
}

struct Delimiters {
  std::string_view open;
  std::string_view close;
  bool (*is_placeholder)(std::string_view inside);
};

constexpr std::string_view kOpenGuillemet = "\u00ab";

/// The longer of two delimiters with the same beginning comes first.
constexpr std::array<Delimiters, 21> kDelimiters{{
    {"{{{", "}}}", has_letter_or_digit},      // Handlebars and Salesforce, unescaped
    {"{{", "}}", has_letter_or_digit},        // Handlebars, Liquid, Marketo, HubSpot, Braze, Outreach
    {"{%", "%}", starts_like_name},           // Liquid, Jinja
    {"{!", "}", starts_like_name},            // Salesforce, AWeber
    {"$!{", "}", starts_like_name},           // Velocity in Marketo
    {"${", "}", starts_like_name},            // shells, FreeMarker, Marketo, Zoho
    {"$[", "]$", starts_like_name},           // Zoho Campaigns
    {"#{", "}", starts_like_name},            // Ruby, Workato
    {"@{", "}", starts_like_name},            // Power Automate
    {"<%", "%>", has_letter_or_digit},        // ERB, ASP
    {"%%=", "=%%", has_letter_or_digit},      // Salesforce Marketing Cloud, AMPscript
    {"%%", "%%", is_marketing_cloud_field},   // Salesforce Marketing Cloud, Pardot
    {"*|", "|*", starts_like_name},           // Mailchimp
    {"[%", "%]", starts_like_name},           // SendGrid
    {"[[", "]]", is_double_bracketed_field},  // GetResponse, Constant Contact
    {"<<", ">>", is_joined_field},            // Conga and others that imitate word processors
    {"{", "}", is_joined_field},
    {"<", ">", is_bracketed_field},
    {"[", "]", is_bracketed_field},
    {"%", "%", is_bracketed_field},               // ActiveCampaign
    {kOpenGuillemet, "\u00bb", is_joined_field},  // word processors
}};

constexpr bool may_begin_placeholder(char c) {
  return c == '{' || c == '$' || c == '#' || c == '@' || c == '<' || c == '%' || c == '*' || c == '[' ||
         c == '\xC2';
}
static_assert(std::all_of(kDelimiters.begin(), kDelimiters.end(), [](const Delimiters& delimiters) {
  return may_begin_placeholder(delimiters.open.front());
}));

/// contact[name]=Ana in the address of a form, and [Contact](https://...) of Markdown.
bool is_part_of_link(std::string_view text, std::size_t at, std::size_t end) {
  const char before = at > 0 ? text[at - 1] : ' ';
  return is_ascii_letter_or_digit(before) || before == ']' || text.substr(end, 1) == "(";
}

/// French writes blanks inside of guillemets: « Contact » is a quotation.
bool is_quotation(std::string_view inside) {
  return trimmed(inside).size() < inside.size() &&
         trimmed(inside).find_first_of(" _") == std::string_view::npos;
}

/// The placeholder with these delimiters that begins at `at`.
std::optional<std::string_view> match_at(std::string_view text, std::size_t at,
                                         const Delimiters& delimiters) {
  const std::size_t begin = at + delimiters.open.size();
  if (text.substr(at, delimiters.open.size()) != delimiters.open) return std::nullopt;
  const std::string_view rest = text.substr(begin, kMaxInside + delimiters.close.size());
  const std::size_t size = rest.find(delimiters.close);
  if (size == std::string_view::npos) return std::nullopt;
  const std::string_view inside = trimmed(rest.substr(0, size));
  if (inside.find('\n') != std::string_view::npos || !delimiters.is_placeholder(inside)) return std::nullopt;
  const std::size_t end = begin + size + delimiters.close.size();
  if (delimiters.open == "[" && is_part_of_link(text, at, end)) return std::nullopt;
  if (delimiters.open == kOpenGuillemet && is_quotation(rest.substr(0, size))) return std::nullopt;
  return text.substr(at, end - at);
}

}  // namespace

std::optional<std::string_view> find_placeholder(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_begin_placeholder(text[at])) continue;
    for (const Delimiters& delimiters : kDelimiters) {
      if (const auto found = match_at(text, at, delimiters)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace giftsync::validation
