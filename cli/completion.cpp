#include "cli/completion.h"

#include <algorithm>
#include <sstream>

namespace giftsync::cli {
namespace {

/// A validator of fixed choices describes itself as "{sent, opened}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::istringstream listed(type.substr(begin + 1, end - begin - 1));
  std::vector<std::string> choices;
  for (std::string choice; std::getline(listed >> std::ws, choice, ',');) choices.push_back(choice);
  return choices;
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(below->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> beginning_with(std::vector<std::string> words, const std::string& start) {
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(start); });
  return words;
}

const CLI::App* find_below(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* below) { return below->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

/// The noun or verb at the end of the words before the last one, the option that waits for its value, and the
/// number of arguments so far.
struct Position {
  const CLI::App* app;
  const CLI::Option* waiting = nullptr;
  std::size_t arguments = 0;
};

Position position_after(const CLI::App& root, const std::vector<std::string>& words) {
  Position position{&root};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (position.waiting != nullptr) {
      position.waiting = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* option = position.app->get_option_no_throw(word);
      if (option != nullptr && option->get_items_expected_max() > 0) position.waiting = option;
    } else if (const CLI::App* below = find_below(*position.app, word)) {
      position.app = below;
    } else {
      ++position.arguments;
    }
  }
  return position;
}

/// The choices of the argument at this position.
std::vector<std::string> argument_choices(const Position& position) {
  std::size_t before = 0;
  for (const CLI::Option* option : position.app->get_options()) {
    if (option->get_positional() && before++ == position.arguments) return choices_of(*option);
  }
  return {};
}

}  // namespace

std::vector<std::string> completions(const CLI::App& root, const std::vector<std::string>& words) {
  const std::string last = words.empty() ? std::string() : words.back();
  const Position position = position_after(root, words);
  if (position.waiting != nullptr) return beginning_with(choices_of(*position.waiting), last);
  if (last.starts_with('-')) return beginning_with(option_names(*position.app), last);
  const std::vector<std::string> names = names_below(*position.app);
  return beginning_with(names.empty() ? argument_choices(position) : names, last);
}

}  // namespace giftsync::cli
