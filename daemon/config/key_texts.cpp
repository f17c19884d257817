#include "daemon/config/key_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace giftsync::config {
namespace {

/// With one element of each list, since accessors refer to the last one.
Settings defaults_of_all_keys() {
  Settings settings;
  for (const SettingsList& list : settings_lists()) list.add(settings);
  return settings;
}

template <class Rule, class... Kinds>
constexpr bool kIsOneOf = (std::is_same_v<Rule, Kinds> || ...);

std::string yaml_text(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return is_plain ? text : value.dump();
}

template <class TextOf>
std::string flow_list(const Json& list, TextOf text_of) {
  std::string items;
  for (const Json& item : list) items += (items.empty() ? "" : ", ") + text_of(item);
  return "[" + items + "]";
}

}  // namespace

Json default_of(const SettingsKey& key) {
  Settings defaults = defaults_of_all_keys();
  const auto* const number = std::get_if<WholeNumber>(&key.rule);
  if (number && number->accessor(defaults) < number->minimum) return nullptr;
  const Json value = std::visit(
      [&](const auto& rule) -> Json {
        using Rule = std::decay_t<decltype(rule)>;
        if constexpr (std::is_same_v<Rule, Choice>) {
          return rule.values[rule.chosen(defaults)];
        } else if constexpr (kIsOneOf<Rule, WholeNumber, BooleanValue, Text, TextList, FilePath>) {
          return rule.accessor(defaults);
        } else {
          return nullptr;
        }
      },
      key.rule);
  return value.is_string() && value.get_ref<const std::string&>().empty() ? Json(nullptr) : value;
}

std::string default_text(const SettingsKey& key) {
  const auto plain = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  const Json value = default_of(key);
  if (value.is_null()) return "none";
  return value.is_array() ? flow_list(value, plain) : plain(value);
}

std::string example_text(const SettingsKey& key) {
  if (!key.details.example.empty()) return key.details.example;
  const Json value = default_of(key);
  return value.is_array() ? flow_list(value, yaml_text) : yaml_text(value);
}

std::string condition_text(const SettingsKey& key) {
  const auto& [key_of_choice, value] = key.details.only_with;
  std::string text;
  if (!key_of_choice.empty()) {
    const std::string with = fmt::format("with {}: {}", name_in_section(key_of_choice), value);
    text = key.details.is_required ? "Required " + with + ", and only then." : "Only " + with + ".";
  } else if (key.details.is_required) {
    text = "Required.";
  }
  if (!key.details.only_beside.empty()) {
    text += fmt::format("{}Only together with {}.", text.empty() ? "" : " ",
                        name_in_section(key.details.only_beside));
  }
  return text;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line.append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

}  // namespace giftsync::config
