// What tests look for in log lines.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "platform/log_line.h"

namespace giftsync::tests {

inline std::vector<std::string> messages_of(const std::vector<LogLine>& lines) {
  std::vector<std::string> messages;
  for (const LogLine& line : lines) messages.push_back(line.message);
  return messages;
}

/// "gift=3 request=5": all fields of the line that have a value.
inline std::string fields_text(const LogLine& line) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : " ") + std::string(name) + "=" + value;
  };
  for (const LogField& field : line.fields) {
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&field.value))
      for (const std::int64_t number : *numbers) add(field.name, std::to_string(number));
    else if (const auto* value = std::get_if<std::string>(&field.value))
      add(field.name, *value);
    else
      add(field.name, std::to_string(std::get<std::int64_t>(field.value)));
  }
  return text;
}

}  // namespace giftsync::tests
