#include "daemon/salesforce/soql_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/text.h"
#include "schema/crm_id.h"

namespace giftsync::daemon::salesforce {
namespace {

/// Empty: the character stands for itself.
std::string_view short_escape(char c) {
  switch (c) {
    case '\\':
      return "\\\\";
    case '\'':
      return "\\'";
    case '"':
      return "\\\"";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      return {};
  }
}

bool is_name(std::string_view text) {
  return !text.empty() && platform::is_ascii_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return platform::is_ascii_letter_or_digit(c) || c == '_'; });
}

}  // namespace

std::size_t utf16_length(std::string_view text) {
  std::size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;
    length += byte >= 0xF0U ? 2 : 1;
  }
  return length;
}

std::optional<std::string> text_literal(std::string_view text) {
  if (!platform::is_storable_text(text) || utf16_length(text) > kMaxLiteralLength) return std::nullopt;
  std::string literal = "'";
  literal.reserve(text.size() + 2);
  for (const char c : text) {
    const std::string_view escape = short_escape(c);
    const auto byte = static_cast<unsigned char>(c);
    if (!escape.empty())
      literal += escape;
    else if (byte < 0x20U || byte == 0x7FU || (c == '{' && literal.back() == '@'))  // "@{": ORG-21
      literal += fmt::format("\\u{:04X}", byte);
    else
      literal += c;
  }
  return literal += '\'';
}

std::string_view cut_to_utf16(std::string_view text, std::size_t units) {
  if (text.size() <= units) return text;
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    length += utf16_length(text.substr(i, 1));
    if (length > units) return text.substr(0, i);
  }
  return text;
}

bool is_record_id(std::string_view text) {
  return schema::long_record_id(text).has_value();
}

std::string short_id(std::string_view id) {
  return std::string(id.substr(0, kShortIdLength));
}

std::optional<std::string> id_literal(std::string_view id) {
  if (!is_record_id(id)) return std::nullopt;
  return fmt::format("'{}'", id);
}

std::string number_literal(std::int64_t number) {
  return std::to_string(number);
}

std::string time_literal(platform::UtcMillis time) {
  constexpr std::size_t kToTheSecond = std::string_view("2026-11-22T10:00:00").size();
  return platform::to_rfc3339(time).substr(0, kToTheSecond) + "Z";
}

bool is_identifier(std::string_view text) {
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!is_name(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return is_name(text);
}

}  // namespace giftsync::daemon::salesforce
