// The tree of commands as a whole: every command that a text of the product advises exists, and every verb
// that can print JSON does so over an empty store.
#include "cli/command_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "tests/cli/cli_fixture.h"
#include "tests/source_folder.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// What no command of the tree understands in the words after "giftsyncctl"; empty: they can be run.
std::string fault_in(const Command& root, const std::string& words) {
  const Command* command = &root;
  std::istringstream in(words);
  bool is_value = false;  // of the option before
  for (std::string word; in >> word;) {
    if (std::exchange(is_value, false)) continue;
    if (word.size() > 1 && word.starts_with("-")) {
      const std::string name = word.substr(0, word.find('='));
      if (name == "--help" || name == "--version" || name == "-h") return {};
      if (name == "--config" || name == "-c") {
        is_value = name == word;
        continue;
      }
      const Option* option = command->find(name);
      if (option == nullptr) return name_of_verb(*command) + " has no option " + name;
      is_value = !option->is_flag() && name == word;
    } else if (!command->below.empty()) {
      if (command == &root && (word == "help" || word == "version" || word == "complete")) return {};
      const Command* below = command->find_below(word);
      if (below == nullptr)
        return "there is no " + word + (command == &root ? "" : " of " + name_of_verb(*command));
      command = below;
    }
  }
  return {};
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A document without the lines of its prose that happen to begin with the program's name.
std::string without_prose(const std::string& document) {
  std::string text;
  bool is_block = false;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) is_block = !is_block;
    text += !is_block && line.starts_with("giftsyncctl ") ? line.substr(12) + "\n" : line + "\n";
  }
  return text;
}

/// The words after each "giftsyncctl " of a text, up to where the command ends. A command is advised in
/// quotes, in back quotes, after "$ ", or at the beginning of a line. `is_code`: string literals over several
/// lines are one text.
std::vector<std::string> advised_commands(std::string text, bool is_code) {
  text = is_code ? std::regex_replace(text, std::regex("\"\\s*\n\\s*\""), "") : without_prose(text);
  static const std::regex advice(R"re((\\"|`|\$ |\n\s*|')giftsyncctl ([a-z-][^"`'\n|;<>&()#]*))re");
  std::vector<std::string> commands;
  for (std::sregex_iterator at(text.begin(), text.end(), advice), end; at != end; ++at) {
    std::string words = (*at)[2];
    words = words.substr(0, words.find("\\"));
    while (!words.empty() && std::string_view(" .,:").find(words.back()) != std::string_view::npos)
      words.pop_back();
    // "... revoke KEY, and create another"
    words = words.substr(0, words.find(", "));
    words = words.substr(0, words.find(": "));
    commands.push_back(words);
  }
  return commands;
}

TEST(CommandTree, EveryCommandThatATextAdvisesExists) {
  Commands commands;
  add_all_commands(commands);
  int advised = 0;
  const fs::path root(kSourceFolder);
  for (const char* folder :
       {"platform", "schema", "crm", "matching", "sync", "daemon", "cli", "web", "docs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string ending = entry.path().extension().string();
      const bool is_code = ending == ".cpp" || ending == ".h";
      if (!is_code && ending != ".md" && ending != ".yaml" && ending != ".mustache") continue;
      std::string text = text_of(entry.path());
      if (text.find("giftsyncctl ") == std::string::npos) continue;
      for (const std::string& words : advised_commands(std::move(text), is_code)) {
        ++advised;
        EXPECT_EQ(fault_in(commands.root(), words), "")
            << fs::relative(entry.path(), root) << ": giftsyncctl " << words;
      }
    }
  }
  EXPECT_GT(advised, 300);
}

TEST(CommandTree, AnAdviceThatNoCommandUnderstandsIsFound) {
  Commands commands;
  add_all_commands(commands);
  EXPECT_EQ(fault_in(commands.root(), "account set-plan rose@example.com --plan team"), "");
  EXPECT_EQ(fault_in(commands.root(), "account set-plan --email rose@example.com --plan team"),
            "account set-plan has no option --email");
  EXPECT_EQ(fault_in(commands.root(), "gift shew 17"), "there is no shew of gift");
  EXPECT_EQ(fault_in(commands.root(), "gifts list"), "there is no gifts");
}

std::vector<std::string> words_of(const std::string& verb) {
  std::istringstream words(verb);
  return {std::istream_iterator<std::string>(words), {}};
}

/// "gift list", for each verb that has --json and needs no other word.
std::vector<std::string> verbs_with_json() {
  Commands commands;
  add_all_commands(commands);
  std::vector<std::string> verbs;
  const std::function<void(const Command&)> add = [&](const Command& command) {
    const bool is_alone =
        std::ranges::none_of(command.options, [](const auto& one) { return one->is_required; });
    if (command.below.empty() && is_alone && command.find("--json")) verbs.push_back(name_of_verb(command));
    for (const auto& below : command.below) add(*below);
  };
  add(commands.root());
  return verbs;
}

class EveryVerbWithJson : public testing::TestWithParam<std::string> {};

TEST_P(EveryVerbWithJson, PrintsJsonOverAnEmptyStoreOrSaysWhyNot) {
  const CliFixture cli;
  std::vector<std::string> args = words_of(GetParam());
  args.emplace_back("--json");
  const CliFixture::Result result = cli.run(args);
  SCOPED_TRACE(result.out + result.err);
  if (result.out.empty()) {
    EXPECT_NE(result.code, 0);
    EXPECT_NE(result.err, "");
    return;
  }
  const Json json = tests::parse_ordered_json(result.out);
  EXPECT_TRUE(json.is_array() || json.is_object());
}

INSTANTIATE_TEST_SUITE_P(Tree, EveryVerbWithJson, testing::ValuesIn(verbs_with_json()), [](const auto& verb) {
  std::string name = verb.param;
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
});

/// Gifts by e-mail and by URLs, of which one is undelivered, and a request that waits for a person.
void fill(const CliFixture& cli, const std::string& key) {
  store::Store store(cli.address());
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.gift = {7};
  request.request.item_name = "Coffee";
  request.request.costs = {Money{500}, Money{0}, Money{25}, Money{50}};
  request.request.sender_email = "rose@example.com";
  request.request.created_at = cli.now;
  request.request.credential_prefix = key;
  request.request.is_test = is_test_key(key);
  request.request.utm_campaign_id = "spring";
  request.recipients = {{"kim@example.com", "Kim", "", "Hello"}, {"lee@example.com", "Lee", "", "Hello"}};
  const TransactionId gift = store.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  const store::StatusChange change{{}, "test", gift, Status::undelivered, cli.now, cli.now, {"of " + key}};
  store.changes.accept(std::span(&change, 1));
  request.request.mode = SendMode::urls;
  store.gifts.create(std::span(&request, 1));
  request.hold_reasons = {{"rule", "", "A person has to approve it."}};
  store.gifts.create(std::span(&request, 1));
}

// covers: TEST-7
TEST(CommandTree, NoVerbShowsTestGiftsUnlessAsked) {
  const CliFixture cli;
  cli.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  std::vector<std::string> keys;
  for (const char* kind : {"live", "test"}) {
    std::vector<std::string> create{"key", "create", "--account", "rose@example.com", "--name", kind};
    if (std::string_view(kind) == "test") create.emplace_back("--test");
    keys.push_back(cli.run(create).out.substr(0, 16));
  }
  fill(cli, keys.front());
  std::vector<std::string> verbs{"gift export"};
  for (const std::string& verb : verbs_with_json()) verbs.push_back(verb + " --json");
  const auto print_all = [&] {
    std::map<std::string, std::string> printed;
    static const std::regex time_taken(" after [0-9]+ ms");  // of the attempt to reach a daemon
    for (const std::string& verb : verbs)
      printed[verb] = std::regex_replace(cli.run(words_of(verb)).out, time_taken, "");
    return printed;
  };
  auto before = print_all();
  // Some write, and print what they wrote.
  std::erase_if(before,
                [again = print_all()](const auto& each) { return again.at(each.first) != each.second; });
  EXPECT_GT(before.size() + 8, verbs.size());
  EXPECT_THAT(before.at("gift list --json"), HasSubstr("kim@example.com"));
  EXPECT_THAT(before.at("held list --json"), HasSubstr("A person has to approve it."));
  fill(cli, keys.back());
  EXPECT_THAT(cli.run({"gift", "list", "--test", "--json"}).out, HasSubstr("kim@example.com"));
  const auto after = print_all();
  for (const auto& [verb, printed] : before) EXPECT_EQ(after.at(verb), printed) << verb;
}

}  // namespace
}  // namespace giftsync::cli
