#include "cli/usage.h"

#include <fmt/format.h>

#include "daemon/config/suggestion.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {
namespace {

std::string full_name(const CLI::App& app) {
  const std::string& name = app.get_name();
  return app.get_parent() == nullptr ? name : full_name(*app.get_parent()) + " " + name;
}

/// "key create: ", the prefix of messages; empty for the program itself.
std::string command_prefix(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "";
  const std::string name = full_name(app);
  return name.substr(name.find(' ') + 1) + ": ";
}

std::string help_hint(const CLI::App& app) {
  return fmt::format("see \"{} --help\"", full_name(app));
}

std::string suggestion(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
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

std::string unknown_word(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> known = names_below(app);
  const std::string nearest = daemon::config::suggestion_for(word, known);
  return fmt::format("{}found {}{}; allowed: {}; {}", command_prefix(app), platform::in_quotes(word),
                     suggestion(nearest), fmt::join(known, ", "), help_hint(app));
}

std::string unknown_option(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> known = option_names(app);
  return fmt::format("{}there is no option {}{}; allowed: {}; {}", command_prefix(app),
                     platform::in_quotes(name), suggestion(daemon::config::suggestion_for(name, known)),
                     fmt::join(known, ", "), help_hint(app));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

}  // namespace

std::optional<std::string> usage_fault(const CLI::App& root, const std::vector<std::string>& args) {
  const CLI::App* app = &root;
  for (std::size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    const std::string& word = args[i];
    if (is_option(word)) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::Option* option = app->get_option_no_throw(name);
      if (option == nullptr) return unknown_option(*app, name);
      if (name == "--help" || name == "-h" || name == "--version") return std::nullopt;
      if (takes_value(*option) && name == word) ++i;
    } else if (const std::vector<std::string> known = names_below(*app); !known.empty()) {
      if (std::find(known.begin(), known.end(), word) == known.end()) return unknown_word(*app, word);
      app = app->get_subcommand(word);
    }
  }
  const std::vector<std::string> missing = names_below(*app);
  if (missing.empty()) return std::nullopt;
  return fmt::format("{}missing command; expected one of: {}; {}", command_prefix(*app),
                     fmt::join(missing, ", "), help_hint(*app));
}

std::string parse_fault(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return fmt::format("{}{}; {}", command_prefix(*app), error.what(), help_hint(*app));
}

}  // namespace giftsync::cli
