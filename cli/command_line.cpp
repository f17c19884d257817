#include "cli/command_line.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "cli/commands.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {

void add_all_commands(Commands& commands) {
  add_db_commands(commands);
  add_account_commands(commands);
  add_organization_commands(commands);
  add_key_commands(commands);
  add_item_commands(commands);
  add_crm_commands(commands);
  add_gift_commands(commands);
  add_mail_commands(commands);
  add_do_not_send_commands(commands);
  add_budget_commands(commands);
  add_held_commands(commands);
  add_person_commands(commands);
  add_change_commands(commands);
  add_source_commands(commands);
  add_webhook_commands(commands);
  add_match_command(commands);
  add_rematch_command(commands);
  add_task_commands(commands);
  add_request_record_commands(commands);
  add_backfill_commands(commands);
  add_report_command(commands);
  add_status_command(commands);
  add_settings_commands(commands);
  add_secret_commands(commands);
  add_sso_commands(commands);
  add_user_commands(commands);
  add_session_commands(commands);
  add_console_commands(commands);
  add_audit_commands(commands);
}

namespace {

constexpr const char* kConfigHelp =
    "The settings file (default: $GIFTSYNC_CONFIG, else /etc/giftsync/giftsyncd.yaml)";

std::string full_name(const Command& command) {
  return command.parent == nullptr ? command.name : full_name(*command.parent) + " " + command.name;
}

/// "key create: ", the prefix of messages; empty for the program itself.
std::string command_prefix(const Command& command) {
  if (command.parent == nullptr) return "";
  const std::string name = full_name(command);
  return name.substr(name.find(' ') + 1) + ": ";
}

std::string help_hint(const Command& command) {
  return fmt::format("see \"{} --help\"", full_name(command));
}

std::string suggestion(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

std::vector<std::string> names_below(const Command& command) {
  std::vector<std::string> names;
  for (const auto& below : command.below) names.push_back(below->name);
  return names;
}

/// The long names, those that the parser adds included.
std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names{"--help"};
  if (command.parent == nullptr) names.emplace_back("--version");
  names.emplace_back("--config");
  for (const auto& option : command.options) {
    const std::size_t name = option->names.find("--");
    if (name != std::string::npos) names.push_back(option->names.substr(name));
  }
  return names;
}

bool is_config(const std::string& name) {
  return name == "-c" || name == "--config";
}

bool has_option(const Command& command, const std::string& name) {
  return is_config(name) || name == "-h" || name == "--help" ||
         (name == "--version" && command.parent == nullptr) || command.find(name) != nullptr;
}

bool takes_value(const Command& command, const std::string& name) {
  const Option* option = command.find(name);
  return is_config(name) || (option != nullptr && !option->is_flag());
}

std::string unknown_word(const Command& command, const std::string& word) {
  const std::vector<std::string> known = names_below(command);
  const std::string nearest = suggestion_for(word, known);
  return fmt::format("{}found {}{}; allowed: {}; {}", command_prefix(command), in_quotes(word),
                     suggestion(nearest), fmt::join(known, ", "), help_hint(command));
}

std::string unknown_option(const Command& command, const std::string& name) {
  const std::vector<std::string> known = option_names(command);
  return fmt::format("{}there is no option {}{}; allowed: {}; {}", command_prefix(command), in_quotes(name),
                     suggestion(suggestion_for(name, known)), fmt::join(known, ", "), help_hint(command));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

/// The first unknown noun, verb or option, or a missing verb; empty if there is none. Ignores values.
std::optional<std::string> usage_fault(const Command& root, const std::vector<std::string>& args) {
  const Command* command = &root;
  for (std::size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    const std::string& word = args[i];
    if (is_option(word)) {
      const std::string name = word.substr(0, word.find('='));
      if (!has_option(*command, name)) return unknown_option(*command, name);
      if (name == "--help" || name == "-h" || name == "--version") return std::nullopt;
      if (takes_value(*command, name) && name == word) ++i;
    } else if (!command->below.empty()) {
      const Command* below = command->find_below(word);
      if (below == nullptr) return unknown_word(*command, word);
      command = below;
    }
  }
  if (command->below.empty()) return std::nullopt;
  return fmt::format("{}missing command; expected one of: {}; {}", command_prefix(*command),
                     fmt::join(names_below(*command), ", "), help_hint(*command));
}

/// A check of fixed choices shows itself as "{sent, opened}".
std::vector<std::string> choices_of(const Option& option) {
  std::vector<std::string> choices;
  for (const Check& check : option.checks) {
    if (!check.shown.starts_with('{')) continue;
    std::istringstream listed(check.shown.substr(1, check.shown.size() - 2));
    for (std::string choice; std::getline(listed >> std::ws, choice, ',');) choices.push_back(choice);
  }
  return choices;
}

std::vector<std::string> beginning_with(std::vector<std::string> words, const std::string& start) {
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(start); });
  return words;
}

/// The noun or verb at the end of the words before the last one, the option that waits for its value, and the
/// number of arguments so far.
struct Position {
  const Command* command;
  std::string waiting = {};
  std::size_t arguments = 0;
};

Position position_after(const Command& root, const std::vector<std::string>& words) {
  Position position{&root};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (!position.waiting.empty()) {
      position.waiting.clear();
    } else if (word.starts_with('-')) {
      if (takes_value(*position.command, word)) position.waiting = word;
    } else if (const Command* below = position.command->find_below(word)) {
      position.command = below;
    } else {
      ++position.arguments;
    }
  }
  return position;
}

/// The choices of the argument at this position.
std::vector<std::string> argument_choices(const Position& position) {
  std::size_t before = 0;
  for (const auto& option : position.command->options) {
    if (!option->names.starts_with('-') && before++ == position.arguments) return choices_of(*option);
  }
  return {};
}

/// What may stand in place of the last one of `words`, which may be empty or only begun: nouns and verbs, the
/// options of the verb, or the values that an option allows. Empty where anything may follow, such as a file
/// or an id.
std::vector<std::string> completions(const Command& root, const std::vector<std::string>& words) {
  const std::string last = words.empty() ? std::string() : words.back();
  const Position position = position_after(root, words);
  if (!position.waiting.empty()) {
    const Option* option = position.command->find(position.waiting);
    return option ? beginning_with(choices_of(*option), last) : std::vector<std::string>();
  }
  if (last.starts_with('-')) return beginning_with(option_names(*position.command), last);
  const std::vector<std::string> names = names_below(*position.command);
  return beginning_with(names.empty() ? argument_choices(position) : names, last);
}

/// "help key create" is "key create --help", "version" is "--version"; also behind --config.
std::vector<std::string> with_flags_for_words(std::vector<std::string> args) {
  auto word = args.begin();
  while (word != args.end() && word->starts_with('-')) {
    const bool has_value = *word == "-c" || *word == "--config";
    word += has_value && std::next(word) != args.end() ? 2 : 1;
  }
  if (word == args.end()) return args;
  if (*word == "version" && std::next(word) == args.end()) *word = "--version";
  if (*word != "help") return args;
  args.erase(word);
  args.emplace_back("--help");
  return args;
}

/// "complete -- WORDS", which the shells' completion calls.
bool asks_for_completions(const std::vector<std::string>& args) {
  return args.size() >= 2 && args[0] == "complete" && args[1] == "--";
}

/// The tree as CLI11 parses it.
class Parser {
 public:
  /// The commands outlive this object.
  explicit Parser(Commands& commands)
      : commands_(commands), app_(commands.root().about, commands.root().name) {
    app_.set_version_flag("--version", "giftsyncctl " GIFTSYNC_VERSION);
    app_.get_formatter()->label("SUBCOMMAND", "COMMAND");
    add(app_, commands.root());
    for (auto& [option, made] : options_) {
      for (Option* other : option->needed) made->needs(options_.at(other));
      for (Option* other : option->excluded) made->excludes(options_.at(other));
    }
  }

  /// The exit code of a command line that asks for help or has a fault; without one the verb is parsed.
  std::optional<int> parse(const std::vector<std::string>& args, const Console& console) {
    try {
      app_.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // the parser expects them in reverse
    } catch (const CLI::Success& help_or_version) {
      return app_.exit(help_or_version, console.out, console.err);
    } catch (const CLI::ParseError& error) {
      return console.fail(EX_USAGE, fault_text(error));
    }
    for (auto& [command, app] : apps_) command->is_parsed = app->parsed();
    for (auto& [option, made] : options_) {
      option->words = made->results();
      option->is_given = made->count() > 0;
    }
    return std::nullopt;
  }

 private:
  void add(CLI::App& app, Command& command) {
    apps_[&command] = &app;
    app.footer(command.footer);
    if (!command.below.empty()) app.require_subcommand(1);
    app.add_option("-c,--config", commands_.settings_path(), kConfigHelp)->option_text("FILE");
    for (const auto& option : command.options) options_[option.get()] = made_of(app, *option);
    for (const auto& below : command.below)
      add(*app.add_subcommand(below->name, below->about)->group(below->below.empty() ? "Verbs" : "Nouns"),
          *below);
  }

  static CLI::Option* made_of(CLI::App& app, Option& option) {
    CLI::Option* made = std::visit([&](auto& target) { return added(app, option, target); }, option.target);
    if (option.placeholder) made->option_text(*option.placeholder);
    if (option.is_required) made->required();
    if (option.separator) made->delimiter(*option.separator);
    if (option.takes_one_word) made->allow_extra_args(false);
    if (option.most_words) made->expected(1, *option.most_words);
    for (const Check& check : option.checks) made->check(CLI::Validator(check.find_fault, check.shown));
    if (option.change) {
      made->transform(CLI::Validator(
          [change = option.change](std::string& word) {
            change(word);
            return std::string();
          },
          ""));
    }
    return made;
  }
  template <class Value>
  static CLI::Option* added(CLI::App& app, const Option& option, Value* value) {
    return app.add_option(option.names, *value, option.about);
  }
  static CLI::Option* added(CLI::App& app, const Option& option, bool* value) {
    return app.add_flag(option.names, *value, option.about);
  }
  static CLI::Option* added(CLI::App& app, const Option& option, const std::function<void()>& use) {
    return app.add_flag_callback(option.names, use, option.about);
  }
  static CLI::Option* added(CLI::App& app, const Option& option,
                            const std::function<void(const std::string&)>& use) {
    return app.add_option_function<std::string>(option.names, use, option.about);
  }

  /// A parser error as one sentence with a hint to the help.
  std::string fault_text(const CLI::ParseError& error) const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    const auto at = std::ranges::find(apps_, app, [](const auto& entry) { return entry.second; });
    return fmt::format("{}{}; {}", command_prefix(*at->first), error.what(), help_hint(*at->first));
  }

  Commands& commands_;
  CLI::App app_;
  std::map<Command*, CLI::App*> apps_;
  std::map<Option*, CLI::Option*> options_;
};

int parse_and_run(Commands& commands, const std::vector<std::string>& args, const Console& console) {
  const Command& root = commands.root();
  if (asks_for_completions(args)) {
    for (const std::string& word : completions(root, {args.begin() + 2, args.end()}))
      console.out << word << '\n';
    return EX_OK;
  }
  if (const auto fault = usage_fault(root, args)) return console.fail(EX_USAGE, *fault);
  Parser parser(commands);
  if (const auto exit_code = parser.parse(args, console)) return *exit_code;
  return commands.run_parsed(console);
}

/// Unwritten output is a failure.
int flush_output(int exit_code, const Console& console) {
  console.out.flush();
  if (console.out || exit_code != EX_OK) return exit_code;
  if (console.output_closed()) return kOutputClosedExit;
  return console.fail(EX_IOERR,
                      "the output could not be written; check the disk or the program that reads it");
}

}  // namespace

int run_command(const std::vector<std::string>& args, const Console& console) {
  try {
    Commands commands;
    add_all_commands(commands);
    return flush_output(parse_and_run(commands, with_flags_for_words(args), console), console);
  } catch (const std::exception& bug) {
    return console.fail(EX_SOFTWARE, fmt::format("internal error: {}; please report it", bug.what()));
  }
}

}  // namespace giftsync::cli
