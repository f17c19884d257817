#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/listing.h"
#include "sync/access/credential.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using State = sync::TokenStatus::State;

class CliOrganization : public testing::Test {
 protected:
  State state_of(const std::string& token) const {
    store::Store store(cli.address());
    return sync::token_status(store.credentials, token, cli.now).state;
  }
  static std::string line(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  CliFixture cli;
};

// OPS-16, REQ-39
TEST_F(CliOrganization, CreatePrintsTheTokenAloneAndListsNeverShowIt) {
  const auto made = cli.run({"organization", "create", "--name", "Edge Communications"});
  ASSERT_EQ(made.code, 0);
  EXPECT_THAT(made.out, MatchesRegex("got_live_[0-9A-Za-z]{38}\n"));
  const std::string token = line(made.out);
  EXPECT_EQ(state_of(" " + token + "\n"), State::active);
  EXPECT_EQ(state_of(""), State::missing);
  EXPECT_EQ(state_of(token.substr(0, token.size() - 1) + "!"), State::unknown);
  for (const auto& listing :
       {cli.run({"organization", "list"}), cli.run({"organization", "list", "--json"})}) {
    EXPECT_THAT(listing.out, AllOf(HasSubstr("Edge Communications"), HasSubstr(token.substr(0, 16)),
                                   Not(HasSubstr(token))));
  }
  EXPECT_EQ(cli.run({"organization", "create", "--name", " edge communications "}).code, 65);
  EXPECT_EQ(cli.run({"organization", "create", "--name", " "}).code, 64);
}

// OPS-16
TEST_F(CliOrganization, CreatePrintsTheTokenOnceInJson) {
  const auto made = cli.run({"organization", "create", "--name", "Edge", "--json"});
  ASSERT_EQ(made.code, 0);
  const Json json = tests::parse_ordered_json(made.out);
  const std::string token = json["token"];
  EXPECT_EQ(state_of(token), State::active);
  EXPECT_EQ(made.out.find(token), made.out.rfind(token));
  EXPECT_EQ(json["prefix"], token.substr(0, 16));
  EXPECT_EQ(json["name"], "Edge");
  EXPECT_THAT(made.err, Not(HasSubstr(token)));
}

// REQ-39
TEST_F(CliOrganization, RotateKeepsOldTokensForTheGracePeriodAndRevokeEndsThem) {
  const std::string first = line(cli.run({"organization", "create", "--name", "Edge"}).out);
  const auto rotated = cli.run({"organization", "rotate", "EDGE", "--grace", "1h"});
  ASSERT_EQ(rotated.code, 0);
  const std::string second = line(rotated.out);
  EXPECT_EQ(state_of(first), State::active);
  cli.now.value += 3'600'000;
  EXPECT_EQ(state_of(first), State::expired);
  EXPECT_EQ(state_of(second), State::active);
  EXPECT_EQ(cli.run({"organization", "revoke", second, "--yes"}).code, 0);
  EXPECT_EQ(state_of(second), State::revoked);
  EXPECT_THAT(cli.run({"organization", "revoke", second, "--yes"}).err, Not(HasSubstr(second)));
  EXPECT_EQ(cli.run({"organization", "rotate", "unknown"}).code, 65);
}

// REQ-39
TEST_F(CliOrganization, AccountsBelongToOneOrNone) {
  cli.run({"organization", "create", "--name", "Edge"});
  EXPECT_EQ(cli.run({"account", "create", "--email", "a@x.com", "--name", "A", "--plan", "team",
                     "--organization", "Ede"})
                .code,
            65);
  EXPECT_EQ(cli.run({"account", "create", "--email", "a@x.com", "--name", "A", "--plan", "team",
                     "--organization", "edge"})
                .code,
            0);
  EXPECT_THAT(cli.run({"account", "list", "--json"}).out, HasSubstr("\"organization\":\"Edge\""));
  EXPECT_EQ(cli.run({"account", "set-organization", "A@x.com", "--none"}).code, 0);
  EXPECT_THAT(cli.run({"account", "list", "--json"}).out, HasSubstr("\"organization\":null"));
  EXPECT_EQ(cli.run({"account", "set-organization", "a@x.com"}).code, 64);
  EXPECT_EQ(cli.run({"account", "set-organization", "b@x.com", "--organization", "Edge"}).code, 65);
}

}  // namespace
}  // namespace giftsync::cli
