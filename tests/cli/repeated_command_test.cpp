#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/listing.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Args = std::vector<std::string>;

class CliRepeatedCommand : public ::testing::Test {
 protected:
  CliRepeatedCommand() {
    gift_ = std::to_string(cli_.send_gifts({"kai@example.com", "mia@example.com"}).front().value);
    cli_.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"});
    cli_.run({"organization", "create", "--name", "Edge"});
    cli_.run({"key", "create", "--account", "a@example.com"});
    for (int i = 0; i < 2; ++i)
      cli_.run({"request", "create", "--gift-id", "7", "--recipient-email", "kim@example.com", "--message",
                "Hi", "--sender", "005A"});
    cli_.run({"change", "import", "-"}, R"({"recipient_transaction_id":999,"status":"opened",)"
                                        R"("occurred_at":"2026-11-21T10:00:00Z"})"
                                        "\n");
  }
  std::string change_id() const {
    return std::to_string(
        tests::parse_ordered_json(cli_.run({"change", "list", "--orphaned", "--json"}).out)[0]["id"]
            .get<std::int64_t>());
  }
  CliFixture cli_;
  std::string gift_;
};

// OPS-29
TEST_F(CliRepeatedCommand, ExitsZeroAndSaysAlready) {
  const std::string change = change_id();
  const std::vector<Args> commands{{"account", "set-plan", "a@example.com", "--plan", "enterprise"},
                                   {"account", "set-organization", "a@example.com", "--organization", "edge"},
                                   {"account", "set-organization", "a@example.com", "--none"},
                                   {"account", "deactivate", "a@example.com"},
                                   {"account", "activate", "a@example.com"},
                                   {"key", "revoke", "gsk_live_", "--yes"},
                                   {"organization", "revoke", "got_live_", "--yes"},
                                   {"gift", "cancel", gift_, "--yes"},
                                   {"change", "void", change},
                                   {"change", "restore", change},
                                   {"request", "approve", "R-000001"},
                                   {"request", "reject", "R-000002", "--yes"}};
  for (const Args& args : commands) {
    const std::string name = args[0] + " " + args[1];
    const auto first = cli_.run(args);
    EXPECT_EQ(first.code, 0) << name << ": " << first.err;
    EXPECT_THAT(first.err, Not(HasSubstr("already"))) << name;
    const auto second = cli_.run(args);
    EXPECT_EQ(second.code, 0) << name << ": " << second.err;
    EXPECT_THAT(second.err, HasSubstr("already")) << name;
    EXPECT_EQ(second.out, first.out) << name;
  }
}

// OPS-29
TEST_F(CliRepeatedCommand, NamesWhoDecidedAndRefusesTheContrary) {
  cli_.run({"request", "approve", "R-000001"});
  EXPECT_THAT(cli_.run({"request", "approve", "R-000001"}).err,
              HasSubstr("R-000001 is already Approved (by "));
  cli_.run({"request", "reject", "R-000002", "--yes"});
  EXPECT_EQ(cli_.run({"request", "approve", "R-000002"}).code, 65);
  EXPECT_EQ(cli_.run({"change", "restore", "987654"}).code, 65);
}

}  // namespace
}  // namespace giftsync::cli
