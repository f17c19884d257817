// What an admin stops by hand: `mail pause`, `key pause`, `organization pause-token`, and what lists it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class CliPause : public ::testing::Test {
 protected:
  /// Prints a key or token alone.
  std::string printed(const std::vector<std::string>& args) {
    std::string text = cli_.run(args).out;
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  Json json_of(std::vector<std::string> args) {
    args.push_back("--json");
    return tests::parse_json(cli_.run(args).out);
  }
  std::vector<std::string> conditions() {
    std::vector<std::string> names;
    const Json status = json_of({"status"});
    for (const Json& item : status["needs_attention"]) names.push_back(item["condition"]);
    return names;
  }
  CliFixture cli_;
};

// MAIL-36, OPS-29
TEST_F(CliPause, MailIsPausedOnceAndSentAgainByResumeAlone) {
  cli_.send_gifts({"ada@example.com", "ben@example.com"});
  EXPECT_THAT(cli_.run({"mail", "resume"}).err, HasSubstr("Mail is already sent: no admin has paused it"));
  EXPECT_EQ(cli_.run({"mail", "pause", "--reason", "two\nlines"}).code, 64);
  EXPECT_EQ(cli_.run({"mail", "pause", "--reason", "wrong item"}).code, 0);
  const auto again = cli_.run({"mail", "pause", "--reason", "another"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, AllOf(HasSubstr("already paused"), HasSubstr("wrong item")));
  const Json pause = json_of({"status"})["mail"]["paused_by_admin"];
  EXPECT_EQ(pause["reason"], "wrong item");
  EXPECT_THAT(conditions(), Contains("mail.paused_by_admin"));
  EXPECT_THAT(cli_.run({"status"}).out,
              AllOf(HasSubstr("PAUSED BY AN ADMIN: mail is paused since 2026-11-21 12:31"),
                    HasSubstr("mail resume  # sends 2 waiting mails")));
  EXPECT_THAT(cli_.run({"gift", "show", "1"}).out, HasSubstr("mail is paused since"));
  EXPECT_THAT(cli_.run({"mail", "retry", "--all"}).err,
              HasSubstr("Only \"giftsyncctl mail resume\" ends that pause"));
  EXPECT_THAT(conditions(), Contains("mail.paused_by_admin")) << "a retry does not end it";
  EXPECT_THAT(cli_.run({"mail", "resume"}).err, HasSubstr("with 2 waiting mails"));
  EXPECT_TRUE(json_of({"status"})["mail"]["paused_by_admin"].is_null());
  EXPECT_THAT(conditions(), Not(Contains("mail.paused_by_admin")));
}

// HTTP-51, OPS-29
TEST_F(CliPause, AKeyIsPausedAndReleased) {
  cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  const std::string key = printed({"key", "create", "--account", "rose@example.com", "--name", "website"});
  EXPECT_EQ(cli_.run({"key", "pause", "nothing"}).code, 65);
  EXPECT_EQ(cli_.run({"key", "pause", key.substr(0, 16), "--reason", "runaway flow"}).code, 0);
  EXPECT_THAT(cli_.run({"key", "pause", "website", "--reason", "another"}).err,
              AllOf(HasSubstr("already paused"), HasSubstr("runaway flow")));
  const Json listed = json_of({"key", "list"})[0];
  EXPECT_EQ(listed["state"], "paused");
  EXPECT_EQ(listed["paused_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(listed["pause_reason"], "runaway flow");
  EXPECT_THAT(conditions(), Contains("keys.paused"));
  const Json keys = json_of({"status"})["keys"];
  EXPECT_EQ(keys["paused"], 1);
  EXPECT_EQ(keys["working"], 0);
  EXPECT_THAT(cli_.run({"key", "release", key}).err, HasSubstr("may send again"));
  EXPECT_THAT(cli_.run({"key", "release", key}).err, HasSubstr("may send already"));
  EXPECT_EQ(json_of({"key", "list"})[0]["state"], "active");
  EXPECT_THAT(conditions(), Not(Contains("keys.paused")));
  cli_.run({"key", "revoke", key, "--yes"});
  EXPECT_EQ(cli_.run({"key", "release", key}).code, 65);
  EXPECT_THAT(cli_.run({"key", "pause", key}).err, HasSubstr("is already revoked: it sends nothing"));
}

// HTTP-51, CON-8
TEST_F(CliPause, AnOrganizationsTokenIsPausedAndReleased) {
  const std::string token = printed({"organization", "create", "--name", "Edge"});
  EXPECT_EQ(cli_.run({"organization", "pause-token", token.substr(0, 14), "--reason", "wrong campaign"}).code,
            0);
  EXPECT_EQ(json_of({"organization", "list"})[0]["tokens"][0]["state"], "paused");
  EXPECT_THAT(conditions(), Contains("keys.paused"));
  EXPECT_EQ(cli_.run({"organization", "release-token", token}).code, 0);
  EXPECT_EQ(json_of({"organization", "list"})[0]["tokens"][0]["state"], "active");
  EXPECT_THAT(cli_.run({"audit", "list"}).out,
              AllOf(HasSubstr("organization.pause-token"), HasSubstr("organization.release-token")));
}

}  // namespace
}  // namespace giftsync::cli
