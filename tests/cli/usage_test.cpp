#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "tests/cli/cli_fixture.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CliUsage, HelpAndVersionAreWordsToo) {
  const CliFixture cli;
  const auto flag = cli.run_bare({"key", "create", "--help"});
  const auto word = cli.run_bare({"help", "key", "create"});
  EXPECT_EQ(word.code, 0);
  EXPECT_EQ(word.out, flag.out);
  EXPECT_EQ(cli.run({"help", "key"}).out, cli.run_bare({"key", "--help"}).out) << "behind --config";
  EXPECT_EQ(cli.run_bare({"help"}).out, cli.run_bare({"--help"}).out);
  EXPECT_EQ(cli.run_bare({"version"}).out, cli.run_bare({"--version"}).out);
  EXPECT_EQ(cli.run_bare({"version", "now"}).code, 64);
  EXPECT_EQ(cli.run_bare({"help", "keys"}).code, 64);
}

TEST(CliUsage, CompletesWordsOptionsAndValues) {
  const CliFixture cli;
  const auto complete = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"complete", "--"});
    return cli.run_bare(words).out;
  };
  EXPECT_THAT(complete({""}), AllOf(HasSubstr("gift\n"), HasSubstr("status\n")));
  EXPECT_EQ(complete({"--config", "key", "gift", "lin"}), "link\n") << "a value is no noun";
  EXPECT_EQ(complete({"gift", "list", "--status", "un"}), "undelivered\n");
  EXPECT_EQ(complete({"gift", "show", "--external"}), "--external\n");
  EXPECT_EQ(complete({"audit", "list", "--ob"}), "--object\n");
  EXPECT_EQ(complete({"gift", "show", "--external", ""}), "") << "anything may follow";
  EXPECT_EQ(complete({"gift", "show", ""}), "");
  EXPECT_EQ(complete({"crm", "list", "opp"}), "opportunity\nopportunity_contact_role\n");
  EXPECT_EQ(complete({"crm", "show", "--json", "gift"}), "gift_record\n");
  EXPECT_EQ(complete({"crm", "show", "contact", ""}), "") << "an Id";
}

// OPS-2
TEST(CliUsage, WhatDoesNotExistIsOneExitCode) {
  const CliFixture cli;
  ASSERT_EQ(cli.run({"db", "migrate"}).code, 0);
  for (const std::vector<std::string>& args : {std::vector<std::string>{"gift", "show", "987654"},
                                               {"gift", "resend", "987654"},
                                               {"gift", "link", "987654", "--none", "--reason", "x"},
                                               {"rematch", "--gift", "987654"},
                                               {"change", "restore", "987654"},
                                               {"held", "show", "987654"},
                                               {"crm", "show", "contact", "003D"},
                                               {"user", "grant", "none@example.com", "auditor"},
                                               {"key", "pause", "nothing"},
                                               {"organization", "rotate", "unknown"},
                                               {"source", "refused", "unknown"},
                                               {"sso", "show", "unknown"}})
    EXPECT_EQ(cli.run(args).code, 65) << args[0] << ' ' << args[1];
}

TEST(CliUsage, HelpGoesToStdoutAndSucceeds) {
  const CliFixture cli;
  for (const std::vector<std::string>& args : {std::vector<std::string>{"--help"},
                                               {"key", "--help"},
                                               {"key", "create", "-h"},
                                               {"gift", "list", "--json", "--help"}}) {
    const auto result = cli.run_bare(args);
    EXPECT_EQ(result.code, 0) << args.back();
    EXPECT_THAT(result.out, HasSubstr("giftsyncctl"));
    EXPECT_THAT(result.err, IsEmpty());
  }
}

TEST(CliUsage, HelpOfAVerbNamesItsOptionsAndShowsExamples) {
  const auto result = CliFixture().run_bare({"key", "create", "--help"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("--scope"), HasSubstr("--config"),
                                HasSubstr("giftsyncctl key create --account")));
}

// OPS-15
TEST(CliUsage, SuggestsTheNearestNounVerbAndOption) {
  const CliFixture cli;
  auto result = cli.run_bare({"acount", "list"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("\"acount\""), HasSubstr("did you mean account?"), HasSubstr("settings")));
  result = cli.run_bare({"account", "lst"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err, AllOf(HasSubstr("did you mean list?"), HasSubstr("giftsyncctl account --help")));
  result = cli.run_bare({"account", "create", "--emial", "a@example.com"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--emial"), HasSubstr("did you mean --email?")));
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(CliUsage, ReportsTheMissingCommand) {
  const CliFixture cli;
  auto result = cli.run_bare({});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err, AllOf(HasSubstr("expected one of: "), HasSubstr("gift")));
  result = cli.run_bare({"account"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err, HasSubstr("create, list, set-plan, set-organization, activate, deactivate"));
  result = cli.run_bare({"account", "create", "--email", "a@example.com", "--plan", "team"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--name"), HasSubstr("giftsyncctl account create --help")));
}

// OPS-2
TEST(CliUsage, RefusesAValueWithWhatWasFoundAndWhatIsAllowed) {
  const auto result =
      CliFixture().run_bare({"account", "create", "--email", "a@b.example", "--name", "A", "--plan", "gold"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--plan"), HasSubstr("\"gold\""), HasSubstr("team, enterprise")));
}

TEST(CliUsage, AcceptsTheConfigOptionAnywhere) {
  const CliFixture cli;
  const std::string file = cli.path("giftsyncd.yaml");
  EXPECT_EQ(cli.run_bare({"--config", file, "account", "list"}).code, 0);
  EXPECT_EQ(cli.run_bare({"account", "--config", file, "list"}).code, 0);
  EXPECT_EQ(cli.run_bare({"account", "list", "--config", file}).code, 0);
  EXPECT_EQ(cli.run_bare({"account", "list", "--json", "--config=" + file}).code, 0);
}

TEST(CliUsage, AMissingSettingsFileIsNamed) {
  const auto result = CliFixture().run_bare({"--config", "/nowhere/giftsyncd.yaml", "status"});
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.err, AllOf(HasSubstr("/nowhere/giftsyncd.yaml"), HasSubstr("--config")));
}

TEST(CliUsage, AllSettingsErrorsAreReportedAtOnce) {
  const CliFixture cli;
  cli.write_settings("colour: red\nlog: { level: loud }\n");
  const auto result = cli.run({"account", "list"});
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("giftsyncd.yaml:4"), HasSubstr("giftsyncd.yaml:5"), HasSubstr("\"loud\"")));
}

// OPS-2
TEST(CliUsage, AWriteErrorIsAFailure) {
  const CliFixture cli;
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  std::ostringstream err;
  std::istringstream in;
  const int code = run_command({"settings", "show", "--config", cli.path("giftsyncd.yaml")},
                               Console{out, err, in, false, [] { return UtcMillis{}; }});
  EXPECT_EQ(code, 74);
  EXPECT_THAT(err.str(), HasSubstr("could not be written"));
}

// OPS-20
TEST(CliUsage, AClosedPipeIsNotAnError) {
  const CliFixture cli;
  cli.send_gifts({"ada@example.com", "bob@example.com"});
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"gift", "export"}, {"gift", "list"}, {"change", "list"}}) {
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    std::ostringstream err;
    std::istringstream in;
    std::vector<std::string> all{"--config", cli.path("giftsyncd.yaml")};
    all.insert(all.end(), args.begin(), args.end());
    const Console console{out, err, in, false, [] { return UtcMillis{}; }, [] { return true; }};
    EXPECT_EQ(run_command(all, console), kOutputClosedExit) << args[0] << ' ' << args[1];
    EXPECT_EQ(err.str(), "") << args[0] << ' ' << args[1];
  }
}

TEST(CliUsage, AnIncompleteExportPrintsNoTotals) {
  const CliFixture cli;
  cli.send_gifts({"ada@example.com"});
  std::ofstream out("/dev/full");
  std::ostringstream err;
  std::istringstream in;
  const int code = run_command({"gift", "export", "--config", cli.path("giftsyncd.yaml")},
                               Console{out, err, in, false, [] { return UtcMillis{}; }});
  EXPECT_EQ(code, 74);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("could not be written"), Not(HasSubstr("exported"))));
}

TEST(CliUsage, OnlyAPipeCountsAsClosed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_FALSE(is_output_closed(ends[1]));
  ::close(ends[0]);
  EXPECT_TRUE(is_output_closed(ends[1]));
  ::close(ends[1]);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_FALSE(is_output_closed(full));
  ::close(full);
}

TEST(CliSettings, ShowsEveryKeyAndNoSecret) {
  const CliFixture cli;
  cli.write("secret", "hunter2\n");
  cli.write("giftsyncd.yaml",
            "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
            "store: { backend: postgresql, connection: \"host=db dbname=g\", password: \"file:secret\" }\n"
            "email: { directory: outbox, from: gifts@example.com }\n");
  const auto text = cli.run({"settings", "show"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("limits.max_recipients: 1000"), HasSubstr("store.password: \"********\""),
                    HasSubstr("matching.contact.phone_fields: [\"Phone\",\"MobilePhone\"]"),
                    Not(HasSubstr("hunter2"))));
  const auto json = cli.run({"settings", "show", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"password\": \"********\""), HasSubstr("\"direction\": \"DESC\""),
                              Not(HasSubstr("hunter2"))));
}

TEST(CliAdvice, CanBeCopiedWithTheSettingsInUse) {
  const CliFixture cli;
  const auto made =
      cli.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"});
  EXPECT_THAT(made.err, HasSubstr("Next: giftsyncctl --config " + cli.path("giftsyncd.yaml") +
                                  " key create --account a@example.com"));
}

TEST(CliCrmCheck, PrintsJson) {
  const CliFixture cli;
  EXPECT_THAT(cli.run({"crm", "check", "--json"}).out,
              AllOf(HasSubstr("\"good\": true"), HasSubstr("\"faults\": []")));
  cli.write_settings("matching: { contact: { email_fields: [Work_Mail] } }\n");
  const auto bad = cli.run({"crm", "check", "--json"});
  EXPECT_EQ(bad.code, 78);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("\"good\": false"), HasSubstr("Work_Mail")));
}

// SYNC-78
TEST(CliCrmCheck, VerifiesTheFallbackOwnerAndTheAddressesBehindAliases) {
  CliFixture cli;
  cli.write("users.csv",
            "Id,Name,Email,IsActive\n005A,Ana,ana@example.com,true\n005B,Bob,bob@example.com,false\n");
  ASSERT_EQ(cli.run({"crm", "import", "--object", "user", cli.path("users.csv")}).code, 0);
  cli.write_settings("crm: { fallback_owner: 005A, sender_aliases: { a@old.example: Ana@example.com } }\n");
  EXPECT_EQ(cli.run({"crm", "check"}).code, 0);
  cli.write_settings(
      "crm: { fallback_owner: 005B, sender_aliases: { a@old.example: ana@example.com, b@old.example: "
      "bob@example.com } }\n");
  const auto bad = cli.run({"crm", "check"});
  EXPECT_EQ(bad.code, 78);
  EXPECT_THAT(
      bad.err,
      AllOf(HasSubstr("crm.fallback_owner: the user 005B is not active in the CRM; name the Id"),
            HasSubstr("crm.sender_aliases: no active user of the CRM has the address bob@example.com, "
                      "which b@old.example stands for"),
            Not(HasSubstr("ana@example.com"))));
}

TEST(CliSettings, HidesAPasswordInsideTheConnection) {
  const CliFixture cli;
  cli.write("giftsyncd.yaml",
            "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
            "store: { backend: postgresql, connection: \"host=db dbname=g password=hunter2\" }\n"
            "email: { directory: outbox, from: gifts@example.com }\n");
  const auto result = cli.run({"settings", "show"});
  EXPECT_THAT(result.out + result.err,
              AllOf(HasSubstr("store.connection: \"********\""), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace giftsync::cli
