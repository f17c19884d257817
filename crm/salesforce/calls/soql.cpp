#include "crm/salesforce/calls/soql.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "platform/text.h"
#include "schema/ids.h"

namespace giftsync::salesforce {
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
  return !text.empty() && is_ascii_letter(text.front()) && std::all_of(text.begin(), text.end(), [](char c) {
    return is_ascii_letter_or_digit(c) || c == '_';
  });
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
  if (!is_storable_text(text) || utf16_length(text) > kMaxLiteralLength) return std::nullopt;
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
  return long_record_id(text).has_value();
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

std::string time_literal(UtcMillis time) {
  constexpr std::size_t kToTheSecond = std::string_view("2026-11-22T10:00:00").size();
  return to_rfc3339(time).substr(0, kToTheSecond) + "Z";
}

bool is_identifier(std::string_view text) {
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!is_name(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return is_name(text);
}

namespace {

/// Names come from the field tables and from checked settings, so another text is a bug.
const std::string& checked(const std::string& name) {
  if (!is_identifier(name)) std::abort();
  return name;
}

std::vector<std::string> distinct_names(const std::vector<std::string>& names) {
  std::vector<std::string> distinct;
  for (const std::string& name : names) {
    if (!name.empty() && std::find(distinct.begin(), distinct.end(), name) == distinct.end())
      distinct.push_back(checked(name));
  }
  return distinct;
}

/// "(Email IN (LIST) OR Work_Email__c IN (LIST))".
std::string any_in(const std::vector<std::string>& fields, const std::string& list) {
  std::string text;
  for (const std::string& field : fields)
    text += fmt::format("{}{} IN ({})", text.empty() ? "" : " OR ", field, list);
  return fields.size() > 1 ? "(" + text + ")" : text;
}

std::string with_list(Select select, const std::vector<std::string>& fields, const std::string& list) {
  select.conditions.insert(select.conditions.begin(), any_in(fields, list));
  return to_soql(select);
}

}  // namespace

std::string to_soql(const Select& select) {
  const std::vector<std::string> fields = distinct_names(select.fields);
  std::string text = fmt::format("SELECT {} FROM {}", fmt::join(fields, ", "), checked(select.from));
  if (!select.conditions.empty()) text += fmt::format(" WHERE {}", fmt::join(select.conditions, " AND "));
  if (!select.order.empty()) text += " ORDER BY " + select.order;
  if (select.limit > 0) text += fmt::format(" LIMIT {}", select.limit);
  return text;
}

std::string to_count(const Select& select) {
  std::string text = "SELECT COUNT() FROM " + checked(select.from);
  if (!select.conditions.empty()) text += fmt::format(" WHERE {}", fmt::join(select.conditions, " AND "));
  return text;
}

std::vector<Statement> split(const Select& select, const std::vector<std::string>& fields,
                             const ValueLiterals& values, std::size_t most_values) {
  const std::vector<std::string> asked = distinct_names(fields);
  std::vector<Statement> statements;
  if (asked.empty()) return statements;
  const std::size_t frame = utf16_length(with_list(select, asked, ""));
  std::string list;
  std::size_t first = 0;
  std::size_t length = 0;  // of the list, in characters
  const auto finish = [&](std::size_t end) {
    if (!list.empty()) statements.push_back({with_list(select, asked, list), first, end - first});
    list.clear();
    length = 0;
    first = end;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string literals = fmt::format("{}", fmt::join(values[i], ","));
    const std::size_t added = utf16_length(literals) + 1;
    const bool is_full = frame + asked.size() * (length + added) > kMaxStatementLength;
    if (i > first && (is_full || i - first >= std::max<std::size_t>(most_values, 1))) finish(i);
    if (literals.empty()) continue;
    if (!list.empty()) list += ',';
    list += literals;
    length += added;
  }
  finish(values.size());
  return statements;
}

std::string order_by(std::string_view field, bool descending, std::string_view last) {
  std::string tail = fmt::format("{} ASC", last);
  if (field.empty()) return tail;
  return fmt::format("{} {} NULLS LAST, {}", checked(std::string(field)), descending ? "DESC" : "ASC", tail);
}

ValueLiterals id_literals(std::span<const std::string> ids) {
  ValueLiterals values;
  for (const std::string& id : ids) {
    const std::optional<std::string> literal = id_literal(id);
    values.push_back(literal ? std::vector{*literal} : std::vector<std::string>());
  }
  return values;
}

}  // namespace giftsync::salesforce
