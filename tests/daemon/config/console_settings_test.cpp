// The settings of the console: off by default, and only where a session is not sent unencrypted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config/read_settings.h"

namespace giftsync::config {
namespace {

tl::expected<Settings, SettingsFaults> read(const std::string& admin_url, const std::string& console) {
  return read_settings_text("server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"" + admin_url +
                                "\" }\nstore: { connection: store.db }\n"
                                "email: { directory: outbox, from: gifts@example.com }\n" +
                                console,
                            "/tmp/giftsyncd.yaml");
}

// CON-9
TEST(ConsoleSettingsTest, AreOffByDefault) {
  const auto settings = read("http://gifts.example.com", "");
  ASSERT_TRUE(settings);
  EXPECT_FALSE(settings->console.enabled);
  EXPECT_EQ(settings->console.idle_minutes, 60);
  EXPECT_EQ(settings->console.absolute_hours, 12);
  EXPECT_EQ(settings->console.audit_days, 730);
}

// CON-9
TEST(ConsoleSettingsTest, NeedTlsExceptOnThisHost) {
  for (const std::string url : {"https://gifts.example.com", "HTTPS://gifts.example.com/path",
                                "http://localhost:8480", "http://127.0.0.1:8480", "http://[::1]:8480"}) {
    const auto settings = read(url, "console: { enabled: true, idle_minutes: 5 }\n");
    ASSERT_TRUE(settings) << url;
    EXPECT_EQ(settings->console.idle_minutes, 5);
  }
  for (const std::string url :
       {"http://gifts.example.com", "http://192.168.1.7:8480", "http://localhost.example.com"}) {
    const auto settings = read(url, "console: { enabled: true }\n");
    ASSERT_FALSE(settings) << url;
    EXPECT_THAT(settings.error().lines, testing::ElementsAre(testing::HasSubstr("console.enabled")));
  }
  EXPECT_TRUE(read("http://gifts.example.com", "console: { enabled: false }\n"));
  EXPECT_FALSE(read("http://127.0.0.1:8480", "console: { idle_minutes: 0 }\n"));
}

// SIGN-10
TEST(ConsoleSettingsTest, NamePermissionSetsForThreeRolesOnly) {
  const auto settings = read("http://gifts.example.com",
                             "console: { permission_sets: { sender: [], admin: [Gift_Admin, Admin] } }\n");
  ASSERT_TRUE(settings);
  EXPECT_THAT(settings->console.sender_sets, testing::IsEmpty());
  EXPECT_THAT(settings->console.approver_sets, testing::ElementsAre("Admin")) << "the default";
  EXPECT_THAT(settings->console.admin_sets, testing::ElementsAre("Gift_Admin", "Admin"));
  EXPECT_FALSE(read("http://gifts.example.com", "console: { permission_sets: { operator: [Admin] } }\n"));
}

// SIGN-15
TEST(ConsoleSettingsTest, MailLinksAreForInstallationsWithoutProvider) {
  const auto of = [](const std::string& console) {
    const auto settings = read("http://127.0.0.1:8480", console);
    EXPECT_TRUE(settings) << console;
    return settings->console.mail_links;
  };
  EXPECT_EQ(of(""), MailLinks::without_provider);
  EXPECT_EQ(of("console: { mail_links: always }\n"), MailLinks::always);
  EXPECT_EQ(of("console: { mail_links: never }\n"), MailLinks::never);
  EXPECT_FALSE(read("http://127.0.0.1:8480", "console: { mail_links: true }\n"));
}

}  // namespace
}  // namespace giftsync::config
