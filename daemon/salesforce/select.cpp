#include "daemon/salesforce/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "daemon/salesforce/soql_text.h"

namespace giftsync::daemon::salesforce {
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

}  // namespace giftsync::daemon::salesforce
