#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "tests/cli/desk.h"

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CliUsage, HelpGoesToStdoutAndSucceeds) {
  const CliDesk desk;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"key", "--help"},
                                                {"key", "create", "-h"},
                                                {"gift", "list", "--json", "--help"}}) {
    const auto answer = desk.run_bare(words);
    EXPECT_EQ(answer.code, 0) << words.back();
    EXPECT_THAT(answer.out, HasSubstr("giftsyncctl"));
    EXPECT_THAT(answer.err, IsEmpty());
  }
}

TEST(CliUsage, HelpOfAVerbNamesItsOptionsAndShowsExamples) {
  const auto answer = CliDesk().run_bare({"key", "create", "--help"});
  EXPECT_THAT(answer.out, AllOf(HasSubstr("--scope"), HasSubstr("--config"),
                                HasSubstr("giftsyncctl key create --account")));
}

TEST(CliUsage, SuggestsTheNearestNounVerbAndOption) {
  const CliDesk desk;
  auto answer = desk.run_bare({"acount", "list"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("\"acount\""), HasSubstr("did you mean account?"), HasSubstr("settings")));
  answer = desk.run_bare({"account", "lst"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("did you mean list?"), HasSubstr("giftsyncctl account --help")));
  answer = desk.run_bare({"account", "create", "--emial", "a@example.com"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--emial"), HasSubstr("did you mean --email?")));
  EXPECT_THAT(answer.out, IsEmpty());
}

TEST(CliUsage, SaysWhatIsMissing) {
  const CliDesk desk;
  auto answer = desk.run_bare({});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("allowed: "), HasSubstr("gift")));
  answer = desk.run_bare({"account"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err, HasSubstr("create, list, plan, assign, activate, deactivate"));
  answer = desk.run_bare({"account", "create", "--email", "a@example.com", "--plan", "team"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--name"), HasSubstr("giftsyncctl account create --help")));
}

TEST(CliUsage, RefusesAValueWithWhatWasFoundAndWhatIsAllowed) {
  const auto answer =
      CliDesk().run_bare({"account", "create", "--email", "a@b.example", "--name", "A", "--plan", "gold"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--plan"), HasSubstr("\"gold\""), HasSubstr("team, enterprise")));
}

TEST(CliUsage, TakesTheSettingsFileAnywhere) {
  const CliDesk desk;
  const std::string file = desk.path("giftsyncd.yaml");
  EXPECT_EQ(desk.run_bare({"--config", file, "account", "list"}).code, 0);
  EXPECT_EQ(desk.run_bare({"account", "--config", file, "list"}).code, 0);
  EXPECT_EQ(desk.run_bare({"account", "list", "--config", file}).code, 0);
  EXPECT_EQ(desk.run_bare({"account", "list", "--json", "--config=" + file}).code, 0);
}

TEST(CliUsage, AMissingSettingsFileIsNamed) {
  const auto answer = CliDesk().run_bare({"--config", "/nowhere/giftsyncd.yaml", "status"});
  EXPECT_EQ(answer.code, 78);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("/nowhere/giftsyncd.yaml"), HasSubstr("--config")));
}

TEST(CliUsage, AllFaultsOfTheSettingsAreToldAtOnce) {
  const CliDesk desk;
  desk.write_settings("colour: red\nlog: { level: loud }\n");
  const auto answer = desk.run({"account", "list"});
  EXPECT_EQ(answer.code, 78);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("giftsyncd.yaml:4"), HasSubstr("giftsyncd.yaml:5"), HasSubstr("\"loud\"")));
}

TEST(CliUsage, OutputThatCannotBeWrittenIsNoSuccess) {
  const CliDesk desk;
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  std::ostringstream err;
  std::istringstream in;
  const int code = run_command({"settings", "show", "--config", desk.path("giftsyncd.yaml")},
                               Console{out, err, in, false, [] { return schema::UtcMillis{}; }});
  EXPECT_EQ(code, 74);
  EXPECT_THAT(err.str(), HasSubstr("could not be written"));
}

TEST(CliUsage, AReaderThatHasSeenEnoughIsNoFault) {
  const CliDesk desk;
  desk.send_gifts({"ada@example.com", "bob@example.com"});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"gift", "export"}, {"gift", "list"}, {"change", "list"}}) {
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    std::ostringstream err;
    std::istringstream in;
    std::vector<std::string> all{"--config", desk.path("giftsyncd.yaml")};
    all.insert(all.end(), words.begin(), words.end());
    const Console console{out, err, in, false, [] { return schema::UtcMillis{}; }, [] { return true; }};
    EXPECT_EQ(run_command(all, console), kReaderLeft) << words[0] << ' ' << words[1];
    EXPECT_EQ(err.str(), "") << words[0] << ' ' << words[1];
  }
}

TEST(CliUsage, AnExportThatIsNotWholeSaysNoSum) {
  const CliDesk desk;
  desk.send_gifts({"ada@example.com"});
  std::ofstream out("/dev/full");
  std::ostringstream err;
  std::istringstream in;
  const int code = run_command({"gift", "export", "--config", desk.path("giftsyncd.yaml")},
                               Console{out, err, in, false, [] { return schema::UtcMillis{}; }});
  EXPECT_EQ(code, 74);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("could not be written"), Not(HasSubstr("exported"))));
}

TEST(CliUsage, OnlyAPipeLosesItsReader) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_FALSE(has_reader_left(ends[1]));
  ::close(ends[0]);
  EXPECT_TRUE(has_reader_left(ends[1]));
  ::close(ends[1]);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_FALSE(has_reader_left(full));
  ::close(full);
}

TEST(CliSettings, ShowsEveryKeyAndNoSecret) {
  const CliDesk desk;
  desk.write("secret", "hunter2\n");
  desk.write("giftsyncd.yaml",
             "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
             "store: { backend: postgresql, connection: \"host=db dbname=g\", password: \"file:secret\" }\n"
             "email: { directory: outbox, from: gifts@example.com }\n");
  const auto text = desk.run({"settings", "show"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("limits.recipients: 1000"), HasSubstr("store.password: \"********\""),
                              HasSubstr("matching.contact.phone_fields: [\"Phone\",\"MobilePhone\"]"),
                              Not(HasSubstr("hunter2"))));
  const auto json = desk.run({"settings", "show", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"password\": \"********\""), HasSubstr("\"direction\": \"DESC\""),
                              Not(HasSubstr("hunter2"))));
}

TEST(CliAdvice, CanBeCopiedWithTheSettingsInUse) {
  const CliDesk desk;
  const auto made =
      desk.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"});
  EXPECT_THAT(made.err, HasSubstr("Next: giftsyncctl --config " + desk.path("giftsyncd.yaml") +
                                  " key create --account a@example.com"));
}

TEST(CliCrmCheck, SpeaksJson) {
  const CliDesk desk;
  EXPECT_THAT(desk.run({"crm", "check", "--json"}).out,
              AllOf(HasSubstr("\"good\": true"), HasSubstr("\"faults\": []")));
  desk.write_settings("matching: { contact: { email_fields: [Work_Mail] } }\n");
  const auto bad = desk.run({"crm", "check", "--json"});
  EXPECT_EQ(bad.code, 78);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("\"good\": false"), HasSubstr("Work_Mail")));
}

TEST(CliSettings, HidesAPasswordInsideTheConnection) {
  const CliDesk desk;
  desk.write("giftsyncd.yaml",
             "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
             "store: { backend: postgresql, connection: \"host=db dbname=g password=hunter2\" }\n"
             "email: { directory: outbox, from: gifts@example.com }\n");
  const auto answer = desk.run({"settings", "show"});
  EXPECT_THAT(answer.out + answer.err,
              AllOf(HasSubstr("store.connection: \"********\""), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace giftsync::daemon
