// The rules of single settings: addresses, URLs, names, secrets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/parsed_values.h"
#include "daemon/config/read_settings.h"
#include "daemon/config/text_checks.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Rule = TextFault (*)(std::string&);

void expect_good(Rule rule, const std::vector<std::string>& texts) {
  for (std::string text : texts) EXPECT_EQ(rule(text), std::nullopt) << text;
}

void expect_refused(Rule rule, const std::vector<std::string>& texts) {
  for (std::string text : texts) EXPECT_NE(rule(text), std::nullopt) << text;
}

TEST(TextChecks, ListenAddress) {
  expect_good(check_listen_address, {"127.0.0.1:8480", "0.0.0.0:0", "[::1]:8480", "[::]:65535"});
  expect_refused(check_listen_address,
                 {"127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x", ":8480",
                  "*:8480", "::1:8480", "[::1]", "[127.0.0.1]:80", "localhost:8480", "300.0.0.1:80",
                  "gifts.example.com:80", "127.0.0.1: 80"});
}

TEST(TextChecks, AddressBlock) {
  expect_good(check_address_block, {"10.1.2.3", "10.0.0.0/8", "0.0.0.0/0", "fd00::/8", "::1", "::1/128"});
  expect_refused(check_address_block,
                 {"10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "::1/129", "proxy", "10.0.0.0/8/8", "/8"});
}

TEST(TextChecks, WebUrl) {
  expect_good(check_web_url, {"http://127.0.0.1:8480", "https://gifts.example.com/g", "https://[::1]:8480/"});
  expect_refused(check_web_url, {"gifts.example.com", "ftp://h", "http://", "http:///g", "http://h:0",
                                 "http://h:70000", "http://h?a=b", "http://h/?", "http://h/#top",
                                 "http://h/#", "http://user@h", "http://u:p@h", "http://h h", "http:/h"});
  std::string url = "https://gifts.example.com/g//";
  EXPECT_EQ(check_web_url(url), std::nullopt);
  EXPECT_EQ(url, "https://gifts.example.com/g");
}

TEST(TextChecks, ItemUrl) {
  expect_good(check_item_url, {"https://shop.example.com/{gift_id}", "http://h/a/b/{gift_id}"});
  expect_refused(check_item_url, {"https://shop.example.com/", "https://h/{gift_id}/x",
                                  "https://h/x{gift_id}", "https://h/?id={gift_id}", "{gift_id}",
                                  "https://h/{gift_id}/{gift_id}", "ftp://h/{gift_id}"});
}

// HTTP-60
TEST(TextChecks, Currency) {
  expect_good(check_currency, {"EUR", "USD"});
  expect_refused(check_currency, {"", "eur", "EURO", "E", "E1R", "€", " EUR"});
}

// CON-76
TEST(TextChecks, RecordUrl) {
  expect_good(check_record_url, {"https://crm.example.com/{object}/{id}", "https://h/{id}",
                                 "https://h/x?id={id}", "https://h/{id}/{object}/view"});
  expect_refused(check_record_url,
                 {"http://h/{id}", "https://h/{object}", "https://h/", "https://{id}.example.com/",
                  "https://{id}", "https://h/{id}/{id}", "https://h/{id}/{name}", "https://u@h/{id}",
                  "javascript:{id}", "{id}", "https://h/#{id}"});
}

TEST(TextChecks, SmtpUrl) {
  expect_good(check_smtp_url, {"smtp://relay.example.com:587", "smtps://10.0.0.1", "smtp://relay/"});
  expect_refused(check_smtp_url, {"relay:587", "http://relay", "smtp://u:p@relay", "smtp://relay/ehlo.name",
                                  "smtp://relay?x", "smtp://"});
}

// HTTP-22
TEST(TextChecks, EmailAddressIsTrimmed) {
  std::string email = " gifts@example.com ";
  EXPECT_EQ(check_email_address(email), std::nullopt);
  EXPECT_EQ(email, "gifts@example.com");
  expect_refused(check_email_address, {"gifts", "Gifts <gifts@example.com>", "a@b@c", "@example.com"});
}

TEST(TextChecks, Names) {
  expect_good(check_region, {"US", "DE", "NO"});
  expect_refused(check_region, {"us", "XX", "USA", ""});
  expect_good(check_namespace, {"giftsync", "A", "a_1", "abcdefghijklmno"});
  expect_refused(check_namespace, {"1a", "_a", "a__b", "a_", "abcdefghijklmnop", "a-b", ""});
  expect_good(check_field_name, {"Email", "Work_Email__c", "npe01__WorkEmail__c"});
  expect_refused(check_field_name, {"Work Email", "9", "a;drop", std::string(81, 'a')});
  expect_good(check_plain_text, {"005000000000001AAA", std::string(255, 'a')});
  expect_refused(check_plain_text, {"a\nb", std::string(256, 'a')});
}

TEST(TextChecks, FindsAPasswordInAConnection) {
  for (const char* text :
       {"host=h password=x", "password = x", "postgresql://u:p@h/d", "postgres://h/d?password=x"}) {
    EXPECT_TRUE(has_password(text)) << text;
  }
  for (const char* text : {"host=h dbname=password", "postgresql://u@h:5432/d", "postgresql://h/d", ""}) {
    EXPECT_FALSE(has_password(text)) << text;
  }
}

/// A temporary folder with a settings file for PostgreSQL.
class SecretsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "giftsync-secrets-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text, std::filesystem::perms permissions) {
    std::ofstream(folder_ / name) << text;
    std::filesystem::permissions(folder_ / name, permissions);
  }

  tl::expected<Settings, SettingsFaults> with_password(const std::string& reference,
                                                       const std::string& connection = "dbname=d") {
    std::ofstream(folder_ / "a.yaml")
        << "server: { base_url: http://h, admin_url: http://h }\n"
        << "email: { directory: o, from: gifts@example.com }\n"
        << "store: { backend: postgresql, connection: \"" << connection << "\",\n"
        << "  password: \"" << reference << "\" }\n";
    return read_settings((folder_ / "a.yaml").string());
  }

  std::vector<std::string> faults(const std::string& reference, const std::string& connection = "dbname=d") {
    const auto outcome = with_password(reference, connection);
    if (outcome.has_value()) return {};
    return outcome.error().lines;
  }

  static constexpr std::filesystem::perms kOwnerOnly =
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::path folder_;
};

// SET-6
TEST_F(SecretsTest, FromAFileBesideTheSettings) {
  write("password", "hunter2\r\n", kOwnerOnly);
  const Settings settings = with_password("file:password").value();
  EXPECT_EQ(settings.store.password.reveal(), "hunter2");
  EXPECT_TRUE(settings.warnings.empty());
}

TEST_F(SecretsTest, AWorldReadableFileCausesAWarning) {
  write("password", "hunter2", kOwnerOnly | std::filesystem::perms::others_read);
  const Settings settings = with_password("file:" + (folder_ / "password").string()).value();
  EXPECT_THAT(settings.warnings,
              ElementsAre(AllOf(HasSubstr("a.yaml:4: store.password: "), HasSubstr("chmod o-r"))));
}

TEST_F(SecretsTest, FromTheEnvironment) {
  ::setenv("GIFTSYNC_TEST_SECRET", "from outside", 1);
  EXPECT_EQ(with_password("env:GIFTSYNC_TEST_SECRET").value().store.password.reveal(), "from outside");
  ::unsetenv("GIFTSYNC_TEST_SECRET");
  EXPECT_THAT(faults("env:GIFTSYNC_TEST_SECRET"), ElementsAre(HasSubstr("which is not set")));
}

TEST_F(SecretsTest, FromSystemdCredentials) {
  write("store-password", "credible", kOwnerOnly);
  ::unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_THAT(faults("credential:store-password"),
              ElementsAre(HasSubstr("LoadCredential=store-password:PATH")));
  ::setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
  EXPECT_EQ(with_password("credential:store-password").value().store.password.reveal(), "credible");
  EXPECT_THAT(faults("credential:../store-password"), ElementsAre(HasSubstr("without a slash")));
  EXPECT_THAT(faults("credential:"), ElementsAre(HasSubstr("without a slash")));
  ::unsetenv("CREDENTIALS_DIRECTORY");
}

// SET-5
TEST_F(SecretsTest, ALiteralWorksWithAWarningThatDoesNotShowIt) {
  ASSERT_TRUE(with_password("hunter2").has_value());
  std::filesystem::permissions(folder_ / "a.yaml", kOwnerOnly);
  const Settings settings = read_settings((folder_ / "a.yaml").string()).value();
  EXPECT_EQ(settings.store.password.reveal(), "hunter2");
  EXPECT_THAT(settings.warnings, ElementsAre(AllOf(HasSubstr("a.yaml:4: store.password: "),
                                                   HasSubstr("write file:PATH"), Not(HasSubstr("hunter2")))));
}

// SEC-5
TEST_F(SecretsTest, ASecretInAWorldReadableFileCausesAWarning) {
  const auto warnings = [&](const std::string& reference, std::filesystem::perms permissions) {
    EXPECT_TRUE(with_password(reference).has_value());
    std::filesystem::permissions(folder_ / "a.yaml", permissions);
    return read_settings((folder_ / "a.yaml").string()).value().warnings;
  };
  const auto readable = kOwnerOnly | std::filesystem::perms::others_read;
  EXPECT_THAT(warnings("hunter2", readable),
              ::testing::Contains(HasSubstr("is readable by all users of this host; run chmod o-r")));
  EXPECT_THAT(warnings("hunter2", kOwnerOnly),
              ::testing::Not(::testing::Contains(HasSubstr("readable by all"))));
  EXPECT_THAT(warnings("env:HOME", readable), ::testing::IsEmpty());
}

TEST_F(SecretsTest, UnusableSecretsAreFaults) {
  write("empty", "\n", kOwnerOnly);
  write("huge", std::string(70'000, 'x'), kOwnerOnly);
  write("binary", std::string("a\0b", 3), kOwnerOnly);
  EXPECT_THAT(faults("file:empty"), ElementsAre(HasSubstr("which is empty")));
  EXPECT_THAT(faults("file:huge"), ElementsAre(HasSubstr("more than 64 KiB")));
  EXPECT_THAT(faults("file:binary"), ElementsAre(HasSubstr("not UTF-8 text without NUL")));
  EXPECT_THAT(faults("file:nowhere"), ElementsAre(HasSubstr("cannot be read (No such file or directory)")));
  EXPECT_THAT(faults("file:"), ElementsAre(HasSubstr("cannot be read (Is a directory)")));
  EXPECT_THAT(faults(""), ElementsAre(HasSubstr("store.password: found an empty text")));
}

TEST_F(SecretsTest, MessagesContainNoPassword) {
  EXPECT_THAT(faults("env:HOME", "dbname=d password=hunter2"),
              ElementsAre(AllOf(HasSubstr("a.yaml:3: store.connection: found a password"),
                                Not(HasSubstr("hunter2")))));
  EXPECT_THAT(faults("env:HOME", "postgresql://u@h/d"),
              ElementsAre(HasSubstr("a URI beside store.password")));
  const auto outcome = read_settings_text(
      "server: { base_url: \"http://me:hunter2@h\", admin_url: http://h }\n"
      "store: { backend: sqlite, connection: \"dbname=d password=hunter2\" }\n"
      "email: { transport: smtp, from: gifts@example.com, smtp: { url: \"smtp://me:hunter2@h\", password: "
      "[hunter2] } }\n"
      "log: { level hunter2 }\n",
      "a.yaml");
  const std::vector<std::string> lines = outcome.error().lines;
  EXPECT_EQ(lines.size(), 6U) << ::testing::PrintToString(lines);
  EXPECT_THAT(lines, ::testing::Each(Not(HasSubstr("hunter2"))));
}

TEST_F(SecretsTest, ARelayLoginNeedsUsernameAndPassword) {
  const std::string start =
      "server: { base_url: http://h, admin_url: http://h }\nstore: { connection: a.db }\n"
      "email: { transport: smtp, from: gifts@example.com, smtp: { url: \"smtp://h\", ";
  const auto lines = [&](const std::string& rest) {
    return read_settings_text(start + rest + " } }", "a.yaml").error().lines;
  };
  EXPECT_THAT(lines("username: me"), ElementsAre(HasSubstr("email.smtp.password: found nothing beside")));
  EXPECT_THAT(lines("password: \"env:HOME\""),
              ElementsAre(HasSubstr("email.smtp.username: found nothing beside")));
  EXPECT_THAT(lines("ca_file: nowhere.pem"), ElementsAre(HasSubstr("which cannot be read (No such file")));
}

}  // namespace
}  // namespace giftsync::config
