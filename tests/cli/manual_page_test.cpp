// docs/man/giftsyncctl.1 is made of the tree of commands, as --help is, and of what is written for the page
// alone in docs/man/giftsyncctl.1.in: its head, a line "@VERB" or "@NOUN" before the text that follows what
// the tree says of it, and behind "@end" its foot. After a change of either, this renews the page:
//   GIFTSYNC_RENEW_MANUAL=1 build/dev/bin/cli_tests --gtest_filter='ManualPage.*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "daemon/config/settings_documents.h"
#include "tests/source_folder.h"

namespace giftsync::cli {
namespace {

const std::string kPage = std::string(kSourceFolder) + "/docs/man/giftsyncctl.1";

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What is written for the page alone.
struct WrittenText {
  std::string head;
  std::map<std::string, std::string> by_command;
  std::string foot;
};

WrittenText written_text(const std::string& file) {
  WrittenText written;
  std::string* part = &written.head;
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('@'))
      *part += line + '\n';
    else
      part = line == "@end" ? &written.foot : &written.by_command[line.substr(1)];
  }
  return written;
}

/// Behind the placeholder of an option of which the help says that it is needed.
constexpr const char* kRequired = " REQUIRED";

/// "--limit" of "-l,--limit"; an argument's name.
std::string long_name(const Option& option) {
  const std::size_t at = option.names.find("--");
  return at == std::string::npos ? option.names : option.names.substr(at);
}

/// "Fl -limit Ar N", "Ar ID ...".
std::string in_mdoc(const Option& option) {
  const bool is_list = std::holds_alternative<std::vector<std::string>*>(option.target) ||
                       std::holds_alternative<std::vector<std::int64_t>*>(option.target);
  const std::string name = long_name(option);
  if (!name.starts_with('-')) return fmt::format("Ar {}{}", name, is_list ? " ..." : "");
  if (option.is_flag()) return "Fl " + name.substr(1);
  const bool is_text = std::holds_alternative<std::string*>(option.target);
  const std::string placeholder = option.placeholder.value_or(is_text ? "TEXT" : "N");
  return fmt::format("Fl {} Ar {}", name.substr(1), placeholder.substr(0, placeholder.find(kRequired)));
}

bool is_required(const Option& option) {
  return option.is_required || (option.placeholder && option.placeholder->ends_with(kRequired));
}

/// "Not with --orphaned, --ignored."; empty without names, and where the text has them all.
std::string relation(const std::string& beginning, const std::vector<std::string>& names,
                     const std::string& text) {
  const bool is_said =
      std::ranges::all_of(names, [&](const auto& name) { return text.find(name) != std::string::npos; });
  return is_said ? "" : fmt::format(" {} {}.", beginning, fmt::join(names, ", "));
}

/// What the help says of the option, and what its choices are.
std::string help_text(const Option& option, const Command& verb) {
  const std::string text = option.about.ends_with('.') ? option.about : option.about + ".";
  std::vector<std::string> choices;
  std::vector<std::string> needed;
  std::vector<std::string> excluded;
  for (const Check& check : option.checks) {
    if (!check.shown.starts_with('{')) continue;
    std::istringstream words(check.shown.substr(1, check.shown.size() - 2));
    for (std::string choice; std::getline(words >> std::ws, choice, ',');) choices.push_back(choice);
  }
  for (const Option* other : option.needed) needed.push_back(long_name(*other));
  for (const auto& other : verb.options) {
    if (std::ranges::count(option.excluded, other.get()) + std::ranges::count(other->excluded, &option) > 0)
      excluded.push_back(long_name(*other));
  }
  return text + relation("Allowed:", choices, text) + relation("Only with", needed, text) +
         relation("Not with", excluded, text);
}

/// --json and --yes, of which the page's head says what they do.
bool is_described_once(const Option& option) {
  return option.about == "Print JSON" || option.about == "Print a JSON array" || option.names == "--yes";
}

class ManualPage {
 public:
  ManualPage(const Command& root, WrittenText written) : written_(std::move(written)) {
    page_ =
        ".\\\" Made by tests/cli/manual_page_test.cpp; what is written by hand is in giftsyncctl.1.in.\n" +
        written_.head;
    for (const auto& command : root.below) add_section(*command);
    page_ += written_.foot;
  }
  const std::string& text() const { return page_; }
  /// The commands that something is written for and that do not exist.
  std::vector<std::string> unknown() const {
    std::vector<std::string> names;
    for (const auto& [name, text] : written_.by_command) names.push_back(name);
    return names;
  }

 private:
  void add_section(const Command& command) {
    page_ += ".Ss " + command.name + "\n";
    if (!command.below.empty()) add_text(command);
    page_ += ".Bl -tag -width Ds\n";
    add_verbs(command);
    page_ += ".El\n";
  }
  void add_verbs(const Command& command) {
    if (command.below.empty()) return add_verb(command);
    for (const auto& below : command.below) add_verbs(*below);
  }
  void add_verb(const Command& verb) {
    page_ += ".It Xo\n.Cm " + name_of_verb(verb) + "\n";
    std::string list;
    for (const bool is_argument : {true, false}) {
      for (const auto& option : verb.options) {
        if (is_argument == option->names.starts_with('-')) continue;
        page_ += (is_required(*option) ? "." : ".Op ") + in_mdoc(*option) + "\n";
        if (!is_described_once(*option))
          list += ".It " + in_mdoc(*option) + "\n" + config::manual_lines(help_text(*option, verb));
      }
    }
    page_ += ".Xc\n";
    add_text(verb);
    if (!list.empty()) page_ += ".Bl -tag -width Ds -compact\n" + list + ".El\n";
    add_footer(verb);
  }
  /// What the tree says of the command, and what is written.
  void add_text(const Command& command) {
    const std::string& about = command.about;
    page_ += config::manual_lines(about.ends_with('.') ? about : about + ".");
    const auto written = written_.by_command.extract(name_of_verb(command));
    if (written) page_ += written.mapped();
  }
  /// Examples, each after "$ ", and a list that may follow them.
  void add_footer(const Command& verb) {
    page_ += ".Bd -literal -offset indent\n";
    std::istringstream lines(verb.footer.substr(verb.footer.find('\n') + 1));
    for (std::string line; std::getline(lines, line);)
      page_ += (line.starts_with("  giftsyncctl ") ? "$ " + line.substr(2) : line) + "\n";
    page_ += ".Ed\n";
  }

  WrittenText written_;
  std::string page_;
};

TEST(ManualPage, IsMadeOfTheTreeOfCommands) {
  Commands commands;
  add_all_commands(commands);
  const ManualPage page(commands.root(), written_text(text_of(kPage + ".in")));
  EXPECT_EQ(page.unknown(), std::vector<std::string>()) << "giftsyncctl.1.in describes no such command";
  if (std::getenv("GIFTSYNC_RENEW_MANUAL") != nullptr) std::ofstream(kPage, std::ios::binary) << page.text();
  EXPECT_TRUE(page.text() == text_of(kPage)) << "renew docs/man/giftsyncctl.1 as this file's head says";
}

TEST(ManualPage, ATextForAnUnknownCommandIsFound) {
  Commands commands;
  add_all_commands(commands);
  const ManualPage page(commands.root(), written_text("head\n@gift shew\ntext\n@gift show\nmore\n@end\n"));
  EXPECT_EQ(page.unknown(), std::vector<std::string>{"gift shew"});
}

}  // namespace
}  // namespace giftsync::cli
