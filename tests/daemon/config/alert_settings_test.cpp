// The section `alerts`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config/read_settings.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

tl::expected<Settings, SettingsFaults> read(const std::string& alerts, bool is_smtp = true) {
  return read_settings_text(
      "server: { base_url: \"https://gifts.example.com\", admin_url: \"https://gifts.internal\" }\n"
      "store: { connection: gifts.db }\n"
      "email: { from: gifts@example.com, " +
          std::string(is_smtp ? "transport: smtp, smtp: { url: \"smtp://relay:25\" }" : "directory: outbox") +
          " }\nalerts: { " + alerts + " }\n",
      "/tmp/a.yaml");
}

// OPS-43, OPS-44
TEST(AlertSettings, AreRead) {
  const auto outcome = read(
      "mail_to: [ops@example.com, ana@example.com], quiet_from: \"22:00\", quiet_until: \"07:00\", "
      "time_zone: "
      "Europe/Berlin, digest_minutes: 15");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  EXPECT_THAT(outcome->alerts.mail_to, ElementsAre("ops@example.com", "ana@example.com"));
  EXPECT_EQ(outcome->alerts.quiet_from, "22:00");
  EXPECT_EQ(outcome->alerts.quiet_until, "07:00");
  EXPECT_EQ(outcome->alerts.time_zone, "Europe/Berlin");
  EXPECT_EQ(outcome->alerts.digest_minutes, 15);
  EXPECT_THAT(outcome->warnings, IsEmpty());
  EXPECT_THAT(read("mail_to: [ops@example.com]", false)->warnings,
              ElementsAre(AllOf(HasSubstr("alerts.mail_to"), HasSubstr("no one is mailed"))));
  EXPECT_THAT(read("mail_to: []", false)->warnings, IsEmpty());
}

// SET-3
TEST(AlertSettings, FaultsSayWhatIsAllowed) {
  struct Case {
    std::string alerts;
    std::string fault;
  };
  const std::vector<Case> cases{
      {"mail_to: [ops]", "alerts.mail_to"},
      {"mail_to: ops@example.com", "alerts.mail_to"},
      {"quiet_from: \"22:00\"", "add alerts.quiet_until, or remove alerts.quiet_from"},
      {"quiet_until: \"07:00\"", "add alerts.quiet_from, or remove alerts.quiet_until"},
      {"quiet_from: \"7:00\", quiet_until: \"09:00\"", "a time of the day such as 22:00"},
      {"quiet_from: \"24:00\", quiet_until: \"09:00\"", "a time of the day such as 22:00"},
      {"quiet_from: \"07:60\", quiet_until: \"09:00\"", "a time of the day such as 22:00"},
      {"quiet_from: \"07:00\", quiet_until: \"07:00\"", "the same as alerts.quiet_from"},
      {"time_zone: Mars", "alerts.time_zone"},
      {"digest_minutes: 1441", "alerts.digest_minutes"}};
  for (const Case& one : cases) {
    const auto outcome = read(one.alerts);
    ASSERT_FALSE(outcome.has_value()) << one.alerts;
    EXPECT_THAT(outcome.error().lines, ElementsAre(HasSubstr(one.fault))) << one.alerts;
  }
}

}  // namespace
}  // namespace giftsync::config
