// cli: the command line as data: nouns, verbs, their options, and what a word of them may be.
// command_line.cpp gives the tree to CLI11, which no other file includes: its templates cost seconds in each
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace giftsync::cli {

/// What is wrong with a word, as a sentence part; empty: it is allowed.
struct Check {
  std::function<std::string(const std::string&)> find_fault;
  std::string shown{};  ///< in the help, and "{sent, opened}" for completion
};

/// An option, a flag or an argument. Its functions return it, so that a declaration is one statement.
struct Option {
  /// Where its words go; a flag sets the bool or calls the function without a parameter.
  using Target = std::variant<bool*, std::string*, std::optional<std::string>*, std::int64_t*,
                              std::optional<std::int64_t>*, std::size_t*, std::vector<std::string>*,
                              std::vector<std::int64_t>*, std::function<void()>,
                              std::function<void(const std::string&)>>;

  std::string names;  ///< "-c,--config"; an argument's: "ID"
  Target target;
  std::string about;
  std::optional<std::string> placeholder = {};
  std::function<void(std::string&)> change = {};  ///< before the checks
  std::vector<Check> checks = {};
  std::vector<Option*> needed = {};
  std::vector<Option*> excluded = {};
  std::optional<char> separator = {};
  std::optional<int> most_words = {};
  bool takes_one_word = false;  ///< each time that it is given; the next word is another argument
  bool is_required = false;
  // What the parser found:
  std::vector<std::string> words = {};
  bool is_given = false;

  bool is_flag() const {
    return std::holds_alternative<bool*>(target) || std::holds_alternative<std::function<void()>>(target);
  }
  Option* option_text(std::string text) { return placeholder = std::move(text), this; }
  Option* transform(std::function<void(std::string&)> changing) { return change = std::move(changing), this; }
  Option* check(Check one) { return checks.push_back(std::move(one)), this; }
  Option* needs(Option* other) { return needed.push_back(other), this; }
  Option* excludes(Option* other) { return excluded.push_back(other), this; }
  Option* delimiter(char character) { return separator = character, this; }
  Option* one_word_each() { return takes_one_word = true, this; }
  Option* at_most(int word_count) { return most_words = word_count, this; }
  Option* required() { return is_required = true, this; }
};

/// The program, a noun or a verb.
struct Command {
  std::string name;
  std::string about;
  std::string footer = {};
  const Command* parent = nullptr;
  std::vector<std::unique_ptr<Command>> below = {};  ///< of a verb none
  std::vector<std::unique_ptr<Option>> options = {};
  bool is_parsed = false;

  template <class Value>
  Option* add_option(std::string names, Value& value, std::string text) {
    return add({std::move(names), &value, std::move(text)});
  }
  Option* add_option_function(std::string names, std::function<void(const std::string&)> use,
                              std::string text) {
    return add({std::move(names), std::move(use), std::move(text)});
  }
  Option* add_flag(std::string names, bool& value, std::string text) {
    return add({std::move(names), &value, std::move(text)});
  }
  Option* add_flag_callback(std::string names, std::function<void()> use, std::string text) {
    return add({std::move(names), std::move(use), std::move(text)});
  }
  /// By one of its names; null without one.
  const Option* find(std::string_view option) const;
  /// The noun or verb below it; null without one.
  const Command* find_below(std::string_view word) const;

 private:
  Option* add(Option option) {
    return options.emplace_back(std::make_unique<Option>(std::move(option))).get();
  }
};

}  // namespace giftsync::cli
