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

constexpr char kUrl[] = "http://127\\.0\\.0\\.1:8480/api/v1/crm/salesforce/messages/";

class CliCrmMessages : public testing::Test {
 protected:
  CliFixture::Result messages(std::vector<std::string> args) const {
    args.insert(args.begin(), {"crm", "messages"});
    return cli.run(args);
  }
  static std::string token_of(const std::string& out) {
    const std::size_t begin = out.find("gmt_live_");
    return out.substr(begin, out.find_first_of("\"\n", begin) - begin);
  }
  std::vector<store::Credential> tokens() const {
    return store::Store(cli.address()).credentials.list(CredentialKind::message_token);
  }
  CliFixture cli;
};

// MSG-1, MSG-2
TEST_F(CliCrmMessages, CreatePrintsTheUrlAloneAndNothingElseShowsIt) {
  EXPECT_THAT(messages({"list"}).err, HasSubstr("crm messages create"));
  const auto made = messages({"create"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, MatchesRegex(kUrl + std::string("gmt_live_[0-9A-Za-z]{56}\n")));
  const std::string token = token_of(made.out);
  EXPECT_THAT(made.err, AllOf(Not(HasSubstr(token)), HasSubstr("not https"), HasSubstr("Endpoint URL")));
  ASSERT_EQ(tokens().size(), 1u);
  EXPECT_EQ(tokens()[0].hash, sync::api_key_hash(token));
  for (const auto& listing : {messages({"list"}), messages({"list", "--json"})})
    EXPECT_THAT(listing.out,
                AllOf(HasSubstr(token.substr(0, 16)), HasSubstr("active"), Not(HasSubstr(token))));
  const auto again = messages({"create"});
  EXPECT_EQ(again.code, 65);
  EXPECT_THAT(again.err, HasSubstr("crm messages rotate"));
}

// OPS-16
TEST_F(CliCrmMessages, CreateAndListPrintJson) {
  const Json made = tests::parse_ordered_json(messages({"create", "--json"}).out);
  const std::string token = token_of(made["url"]);
  EXPECT_TRUE(sync::is_credential(CredentialKind::message_token, token));
  EXPECT_EQ(made["prefix"], token.substr(0, 16));
  const Json listed = tests::parse_ordered_json(messages({"list", "--json"}).out);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["state"], "active");
  EXPECT_TRUE(listed[0]["last_used_at"].is_null());
  EXPECT_TRUE(listed[0]["expires_at"].is_null());
}

// MSG-2
TEST_F(CliCrmMessages, RotateKeepsTheFormerUrlForTheGracePeriodAndNeverThree) {
  EXPECT_EQ(messages({"rotate"}).code, 65);
  const std::string first = token_of(messages({"create"}).out);
  const auto rotated = messages({"rotate", "--grace", "1h"});
  ASSERT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_THAT(rotated.err, HasSubstr(first.substr(0, 16) + " works until "));
  const std::string second = token_of(rotated.out);
  EXPECT_EQ(tokens()[0].expires_at, cli.now + 3'600'000);
  EXPECT_THAT(messages({"list"}).out, AllOf(HasSubstr("expiring"), HasSubstr("active")));
  const auto third = messages({"rotate"});
  EXPECT_THAT(third.err, AllOf(HasSubstr(first.substr(0, 16) + " was replaced before"),
                               HasSubstr(second.substr(0, 16) + " works until ")));
  EXPECT_EQ(tokens().size(), 2u);
  EXPECT_THAT(messages({"rotate", "--grace", "0"}).err, HasSubstr("refused from now on"));
  EXPECT_EQ(tokens().size(), 1u);
}

// MSG-2
TEST_F(CliCrmMessages, DeleteEndsAUrl) {
  const std::string token = token_of(messages({"create"}).out);
  EXPECT_EQ(messages({"delete", token.substr(0, 12)}).code, 64) << "not confirmed";
  const auto unknown =
      messages({"delete", sync::make_credential(CredentialKind::message_token).text, "--yes"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, Not(HasSubstr("gmt_live_")));
  EXPECT_EQ(tokens().size(), 1u);
  const auto deleted = messages({"delete", token.substr(9, 5), "--yes"});
  EXPECT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_THAT(deleted.err, HasSubstr("No messages are accepted any more"));
  EXPECT_EQ(tokens().size(), 0u);
  const std::string url = messages({"create"}).out;
  EXPECT_EQ(messages({"delete", url.substr(0, url.size() - 1), "--yes"}).code, 0);
}

TEST_F(CliCrmMessages, DeleteWorksWithAFaultySettingsFile) {
  messages({"create"});
  cli.write_settings("colour: red\n");
  EXPECT_EQ(messages({"list"}).code, 0);
  EXPECT_EQ(messages({"delete", "gmt_", "--yes"}).code, 0);
}

TEST_F(CliCrmMessages, HelpShowsExamples) {
  for (const std::string verb : {"create", "list", "rotate", "delete"})
    EXPECT_THAT(messages({verb, "--help"}).out, HasSubstr("giftsyncctl crm messages " + verb));
}

}  // namespace
}  // namespace giftsync::cli
