#include <fmt/format.h>

#include <set>

#include "daemon/config/key_texts.h"
#include "daemon/config/settings_documents.h"

namespace giftsync::daemon::config {
namespace {

constexpr std::size_t kWidth = 120;

constexpr const char* kHead =
    R"(# The settings of giftsyncd: every key with its meaning, allowed values and default. This file is valid as it is; the
# required keys are set. A line such as "#key: value" shows a key with its default or an example: remove the # to set
# it. A list is written in brackets, as in [a, b].
#
# "giftsyncd --config FILE --check" reports all faults of a file. Unknown and repeated keys are faults. Relative
# paths begin at this file's folder. Secrets are file:PATH, env:NAME or credential:NAME (systemd's LoadCredential=);
# a secret written into this file works, with a warning.
#
# giftsyncd.schema.json describes the same keys for editors, giftsyncd.yaml(5) for readers.
)";

/// Two blanks for each enclosing section and each enclosing list.
std::size_t indent_of(std::string_view path) {
  std::size_t indent = 0;
  for (std::string section = section_of(path); !section.empty(); section = section_of(section))
    indent += find_settings_list(section) != nullptr ? 4 : 2;
  return indent;
}

std::string comment(std::string_view text, std::size_t indent) {
  std::string lines;
  for (const std::string& line : wrapped(text, kWidth - indent - 2))
    lines += fmt::format("{:{}}# {}\n", "", indent, line);
  return lines;
}

/// Required, and not excluded by the default of another key.
bool is_set(const SettingsKey& key) {
  if (!key.details.is_required || enclosing_list(key.path) != nullptr) return false;
  const OnlyWith& with = key.details.only_with;
  return with.key.empty() || default_of(*find_settings_key(with.key)) == with.value;
}

std::string section_text(const SettingsSection& section) {
  const std::size_t indent = indent_of(section.path);
  std::string text = indent == 0 ? "\n" : "";
  text += comment(find_settings_list(section.path) == nullptr
                      ? section.description
                      : section.description + " A list; each element begins with \"- \".",
                  indent);
  const bool is_commented = enclosing_list(section.path) != nullptr;
  return text +
         fmt::format("{:{}}{}{}:\n", "", indent, is_commented ? "#" : "", name_in_section(section.path));
}

std::string key_text(const SettingsKey& key, bool is_first_of_element) {
  const std::size_t indent = indent_of(key.path) - (is_first_of_element ? 2 : 0);
  std::string facts = fmt::format("Allowed: {}.", allowed_by(key.rule));
  if (!key.details.is_required) facts += fmt::format(" Default: {}.", default_text(key));
  if (const std::string condition = condition_text(key); !condition.empty()) facts += " " + condition;
  return comment(key.description, indent) + comment(facts, indent) +
         fmt::format("{:{}}{}{}{}: {}\n", "", indent, is_set(key) ? "" : "#", is_first_of_element ? "- " : "",
                     name_in_section(key.path), example_text(key));
}

}  // namespace

std::string settings_example() {
  std::string text = kHead;
  std::set<std::string> begun{""};
  for (const SettingsKey& key : settings_keys()) {
    for (const SettingsSection& section : settings_sections()) {
      if (key.path.starts_with(section.path + ".") && begun.insert(section.path).second)
        text += section_text(section);
    }
    const bool is_in_list = find_settings_list(section_of(key.path)) != nullptr;
    text += key_text(key, is_in_list && begun.insert(section_of(key.path) + "[]").second);
  }
  return text;
}

}  // namespace giftsync::daemon::config
