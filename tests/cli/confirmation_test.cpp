#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/console.h"
#include "tests/cli/cli_fixture.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// OPS-28
TEST(CliConfirmation, OnlyYConfirmsOnATerminal) {
  const auto answer = [](const std::string& line) {
    std::istringstream in(line);
    std::ostringstream err;
    const Confirmation given = confirmation_of("Cancel gift 3?", false, true, in, err);
    EXPECT_EQ(err.str(), "Cancel gift 3? [y/N] ");
    return given;
  };
  for (const char* line : {"y\n", "Y\n", " yes \n", "YES"})
    EXPECT_EQ(answer(line), Confirmation::given) << line;
  for (const char* line : {"", "\n", "n\n", "no\n", "yess\n", "1\n"})
    EXPECT_EQ(answer(line), Confirmation::declined) << line;
}

// OPS-28
TEST(CliConfirmation, YesAndAMissingTerminalAskNothing) {
  std::istringstream in("y\n");
  std::ostringstream err;
  EXPECT_EQ(confirmation_of("Cancel?", true, true, in, err), Confirmation::given);
  EXPECT_EQ(confirmation_of("Cancel?", true, false, in, err), Confirmation::given);
  EXPECT_EQ(confirmation_of("Cancel?", false, false, in, err), Confirmation::not_possible);
  EXPECT_EQ(err.str(), "");
}

// OPS-28
TEST(CliConfirmation, IrreversibleCommandsAreRefusedWithoutTerminalAndYes) {
  const CliFixture cli;
  cli.run({"db", "migrate"});
  cli.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"});
  cli.run({"organization", "create", "--name", "Edge"});
  cli.run({"key", "create", "--account", "a@example.com"});
  const std::string id = std::to_string(cli.send_gifts({"kai@example.com"}).front().value);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"gift", "cancel", id}, "Cancel gift " + id + " (Coffee to kai@example.com)?"},
      {{"request", "reject", "R-000001", "R-000002"}, "Reject R-000001, R-000002?"},
      {{"key", "revoke", "gsk_live_"}, "Revoke key gsk_live_"},
      {{"organization", "revoke", "got_live_"}, "Revoke token got_live_"},
      {{"change", "purge", "--orphaned", "--source", "import"}, "Purge 0 orphaned changes of \"import\"?"}};
  for (const auto& [args, question] : cases) {
    const auto refused = cli.run(args);
    EXPECT_EQ(refused.code, 64) << args[0];
    EXPECT_EQ(refused.out, "") << args[0];
    EXPECT_THAT(refused.err, AllOf(HasSubstr(question), HasSubstr("add --yes"))) << args[0];
  }
  EXPECT_THAT(cli.run({"gift", "show", id}).out, testing::Not(HasSubstr("refunded by")));
  EXPECT_THAT(cli.run({"key", "list"}).out, HasSubstr("active"));
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"gift", "cancel", id}, {"key", "revoke", "gsk_live_"}}) {
    std::vector<std::string> confirmed = args;
    confirmed.push_back("--yes");
    EXPECT_EQ(cli.run(confirmed).code, 0) << args[0];
  }
}

}  // namespace
}  // namespace giftsync::cli
