#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/organization_token.h"
#include "tests/cli/desk.h"

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using State = sync::TokenStanding::State;

class CliOrganization : public testing::Test {
 protected:
  State standing(const std::string& token) const {
    schema::Store store(desk.address());
    return token_standing(store.organizations, token, desk.now).state;
  }
  static std::string line(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  CliDesk desk;
};

TEST_F(CliOrganization, CreatePrintsTheTokenAloneAndListsNeverShowIt) {
  const auto made = desk.run({"organization", "create", "--name", "Edge Communications"});
  ASSERT_EQ(made.code, 0);
  EXPECT_THAT(made.out, MatchesRegex("got_live_[0-9A-Za-z]{38}\n"));
  const std::string token = line(made.out);
  EXPECT_EQ(standing(" " + token + "\n"), State::active);
  EXPECT_EQ(standing(""), State::missing);
  EXPECT_EQ(standing(token.substr(0, token.size() - 1) + "!"), State::unknown);
  for (const auto& listing :
       {desk.run({"organization", "list"}), desk.run({"organization", "list", "--json"})}) {
    EXPECT_THAT(listing.out, AllOf(HasSubstr("Edge Communications"), HasSubstr(token.substr(0, 16)),
                                   Not(HasSubstr(token))));
  }
  EXPECT_EQ(desk.run({"organization", "create", "--name", " edge communications "}).code, 65);
  EXPECT_EQ(desk.run({"organization", "create", "--name", " "}).code, 64);
}

TEST_F(CliOrganization, RotateKeepsOldTokensForTheOverlapAndRevokeEndsThem) {
  const std::string first = line(desk.run({"organization", "create", "--name", "Edge"}).out);
  const auto rotated = desk.run({"organization", "rotate", "EDGE", "--overlap", "1h"});
  ASSERT_EQ(rotated.code, 0);
  const std::string second = line(rotated.out);
  EXPECT_EQ(standing(first), State::active);
  desk.now.value += 3'600'000;
  EXPECT_EQ(standing(first), State::expired);
  EXPECT_EQ(standing(second), State::active);
  EXPECT_EQ(desk.run({"organization", "revoke", second}).code, 0);
  EXPECT_EQ(standing(second), State::revoked);
  EXPECT_THAT(desk.run({"organization", "revoke", second}).err, Not(HasSubstr(second)));
  EXPECT_EQ(desk.run({"organization", "rotate", "nobody"}).code, 65);
}

TEST_F(CliOrganization, AccountsBelongToOneOrNone) {
  desk.run({"organization", "create", "--name", "Edge"});
  EXPECT_EQ(desk.run({"account", "create", "--email", "a@x.com", "--name", "A", "--plan", "team",
                      "--organization", "Ede"})
                .code,
            65);
  EXPECT_EQ(desk.run({"account", "create", "--email", "a@x.com", "--name", "A", "--plan", "team",
                      "--organization", "edge"})
                .code,
            0);
  EXPECT_THAT(desk.run({"account", "list", "--json"}).out, HasSubstr("\"organization\":\"Edge\""));
  EXPECT_EQ(desk.run({"account", "assign", "A@x.com", "--none"}).code, 0);
  EXPECT_THAT(desk.run({"account", "list", "--json"}).out, HasSubstr("\"organization\":null"));
  EXPECT_EQ(desk.run({"account", "assign", "a@x.com"}).code, 64);
  EXPECT_EQ(desk.run({"account", "assign", "b@x.com", "--organization", "Edge"}).code, 65);
}

}  // namespace
}  // namespace giftsync::daemon
