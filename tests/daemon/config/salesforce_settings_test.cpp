// The settings of an org of Salesforce as the CRM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/config/effective_settings.h"
#include "daemon/config/read_settings.h"
#include "tests/support/test_keys.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A folder with the private keys that the settings name.
class SalesforceSettings : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    write("salesforce.key", tests::private_pem(tests::make_rsa_key()));
    write("ec.key", tests::private_pem(tests::make_ec_key()));
    write("secret", "client-secret-7");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    std::filesystem::permissions(folder_ / name,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  tl::expected<Settings, SettingsFaults> read(const std::string& crm) const {
    return read_settings_text(
        "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
        "store: { connection: store.db }\n"
        "email: { directory: outbox, from: gifts@example.com }\n"
        "crm:\n" +
            crm,
        (folder_ / "giftsyncd.yaml").string());
  }

  std::vector<std::string> faults(const std::string& crm) const {
    const auto outcome = read(crm);
    return outcome ? std::vector<std::string>() : outcome.error().lines;
  }

  /// With the sign-in by a key and further lines of section salesforce.
  static std::string jwt(const std::string& more = "") {
    return "  type: salesforce\n  salesforce:\n    domain: https://acme.my.salesforce.com/\n"
           "    client_id: 3MVG9\n    username: giftsync@acme.example\n    private_key: "
           "file:salesforce.key\n" +
           more;
  }
  static std::string client_credentials(const std::string& more = "") {
    return "  type: salesforce\n  salesforce:\n    domain: http://127.0.0.1:8080\n"
           "    flow: client_credentials\n    client_id: 3MVG9\n    client_secret: file:secret\n" +
           more;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("giftsync_salesforce_settings_" + std::to_string(::getpid()));
};

TEST_F(SalesforceSettings, AKeyAndAUserAreEnough) {
  const auto outcome = read(jwt());
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const CrmSettings& crm = outcome->crm;
  EXPECT_EQ(crm.kind(), CrmKind::salesforce);
  EXPECT_EQ(crm.name_space, "") << "giftsync's package has no namespace in an org";
  EXPECT_EQ(crm.salesforce.domain, "https://acme.my.salesforce.com");
  EXPECT_EQ(crm.salesforce.login, "production");
  EXPECT_EQ(crm.salesforce.flow, SalesforceFlow::jwt);
  EXPECT_EQ(crm.salesforce.api_version, "62.0");
  EXPECT_EQ(crm.salesforce.share, 20);
  EXPECT_EQ(crm.salesforce.keep_free, 10);
  EXPECT_EQ(crm.salesforce.rows_a_call, 1000);
  EXPECT_THAT(outcome->warnings, IsEmpty());
}

TEST_F(SalesforceSettings, AClientAndItsSecretAreEnough) {
  const auto outcome = read(client_credentials(
      "    login: sandbox\n    api_version: 63.0\n    share: 50\n    keep_free: 0\n    rows_a_call: 25\n"
      "    mode: guarded\n  namespace: thx\n  objects: { gift_record: thx__Gift__c }\n"
      "  columns: { gift_record.Record_Version: Version__c, gift_record.Message: \"-\", contact.Email: "
      "Mail__c }\n"));
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const CrmSettings& crm = outcome->crm;
  EXPECT_EQ(crm.name_space, "thx");
  EXPECT_EQ(crm.salesforce.client_secret.reveal(), "client-secret-7");
  EXPECT_EQ(crm.salesforce.api_version, "63.0");
  EXPECT_EQ(crm.salesforce.rows_a_call, 25);
  EXPECT_THAT(crm.objects, ElementsAre(std::pair<std::string, std::string>("gift_record", "thx__Gift__c")));
  EXPECT_THAT(crm.columns, ::testing::SizeIs(3));
}

TEST_F(SalesforceSettings, SecretsAreNeverShown) {
  for (const std::string& crm : {jwt(), client_credentials()}) {
    const auto outcome = read(crm);
    ASSERT_TRUE(outcome.has_value());
    const std::string shown = to_text(effective_settings(*outcome));
    EXPECT_THAT(shown, HasSubstr("********"));
    EXPECT_THAT(shown, Not(HasSubstr("PRIVATE KEY")));
    EXPECT_THAT(shown, Not(HasSubstr("client-secret-7")));
  }
}

TEST_F(SalesforceSettings, TheNamespaceMayBeEmptyOnlyThere) {
  EXPECT_THAT(faults(jwt("  namespace: \"\"\n")), IsEmpty());
  EXPECT_THAT(faults("  type: sql\n  namespace: \"\"\n"),
              ElementsAre(AllOf(HasSubstr(":6: crm.namespace"), HasSubstr("an empty text"))));
  EXPECT_EQ(read("  type: sql\n")->crm.name_space, "giftsync");
}

TEST_F(SalesforceSettings, EachFlowNeedsItsKeys) {
  EXPECT_THAT(faults("  type: salesforce\n"),
              ElementsAre(HasSubstr("crm.salesforce.domain"), HasSubstr("crm.salesforce.client_id"),
                          HasSubstr("crm.salesforce.username"), HasSubstr("crm.salesforce.private_key")));
  EXPECT_THAT(
      faults("  type: salesforce\n  salesforce: { domain: https://a.example, client_id: a, flow: "
             "client_credentials }\n"),
      ElementsAre(AllOf(HasSubstr("crm.salesforce.client_secret: found nothing"), HasSubstr("add it"))));
  EXPECT_THAT(faults(jwt("    client_secret: file:secret\n")),
              ElementsAre(AllOf(HasSubstr("crm.salesforce.client_secret"), HasSubstr("flow: jwt leaves"))));
  EXPECT_THAT(
      faults(client_credentials("    username: a\n")),
      ElementsAre(AllOf(HasSubstr("crm.salesforce.username"), HasSubstr("client_credentials leaves"))));
}

TEST_F(SalesforceSettings, AKeyThatCannotSignIsRefusedWithoutShowingIt) {
  const std::vector<std::string> found = faults(
      "  type: salesforce\n  salesforce: { domain: https://a.example, client_id: a, username: u, "
      "private_key: "
      "file:ec.key }\n");
  ASSERT_THAT(found, ElementsAre(AllOf(HasSubstr(":6: crm.salesforce.private_key"), HasSubstr("EC key"),
                                       HasSubstr("2048 bits"), HasSubstr("openssl req"))));
  EXPECT_THAT(found.front(), Not(HasSubstr("BEGIN")));
}

TEST_F(SalesforceSettings, TheOrgIsCalledOverTlsOrOnThisHost) {
  const auto domain = [&](const std::string& url) {
    return faults("  type: salesforce\n  salesforce: { domain: \"" + url +
                  "\", client_id: a, username: u, private_key: file:salesforce.key }\n");
  };
  EXPECT_THAT(domain("http://localhost:8080"), IsEmpty());
  EXPECT_THAT(domain("http://acme.my.salesforce.com"), ElementsAre(HasSubstr("sent unencrypted")));
  EXPECT_THAT(domain("https://acme.my.salesforce.com/services"), ElementsAre(HasSubstr("a host and a port")));
  EXPECT_THAT(domain("acme.my.salesforce.com"), ElementsAre(HasSubstr("does not begin with http")));
  EXPECT_THAT(faults(jwt("    login: test\n")), ElementsAre(HasSubstr("crm.salesforce.login")));
  EXPECT_THAT(faults(jwt("    login: https://acme.my.site.com\n")), IsEmpty());
}

TEST_F(SalesforceSettings, ValuesHaveLimits) {
  for (const char* line : {"api_version: 59.0", "api_version: 62.1", "api_version: latest", "share: 0",
                           "keep_free: 91", "rows_a_call: 24", "rows_a_call: 1001", "flow: web"})
    EXPECT_THAT(faults(jwt(std::string("    ") + line + "\n")),
                Contains(HasSubstr(std::string("crm.salesforce.") + std::string(line).substr(0, 3))))
        << line;
}

// ORG-8
TEST_F(SalesforceSettings, BareModeIsAskedForAndHasNoRequestRecords) {
  EXPECT_THAT(faults(jwt("    mode: bare\n")), IsEmpty());
  EXPECT_THAT(faults(jwt("    mode: auto\n")),
              ElementsAre(AllOf(HasSubstr("crm.salesforce.mode"), HasSubstr("guarded, bare"))));
  EXPECT_THAT(faults(jwt("    mode: bare\n") + "requests: { enabled: true }\n"),
              ElementsAre(AllOf(HasSubstr("requests.enabled: found true beside crm.salesforce.mode: bare"),
                                HasSubstr("claimed by the rules of giftsync's package"))));
}

// SYNC-50
TEST_F(SalesforceSettings, KeysOfAnotherKindAreRefused) {
  EXPECT_THAT(faults(jwt("  connection: crm.db\n  backend: sqlite\n")),
              ElementsAre(HasSubstr("crm.connection: found a key that crm.type: salesforce leaves"),
                          HasSubstr("crm.backend")));
  EXPECT_THAT(faults("  type: sql\n  objects: { gift_record: a__c }\n  salesforce: { client_id: a }\n"),
              ElementsAre(HasSubstr("crm.objects"), AllOf(HasSubstr("crm.salesforce.client_id"),
                                                          HasSubstr("set crm.type: salesforce"))));
  EXPECT_THAT(faults("  type: sql\n  salesforce:\n"), IsEmpty());
  EXPECT_THAT(faults(jwt("requests: { enabled: true }\n")), IsEmpty());
  EXPECT_THAT(faults(jwt("    mode: guarded\nrequests: { enabled: true }\n")), IsEmpty());
  EXPECT_THAT(faults(jwt("    mode: bare\nrequests: { enabled: true }\n")),
              Contains(AllOf(HasSubstr("requests.enabled: found true beside crm.salesforce.mode: bare"),
                             HasSubstr("rules of giftsync's package"))));
}

TEST_F(SalesforceSettings, TheStatusLogHasTheNamesOfThePackage) {
  const StatusLogSettings own = read(jwt())->crm.status_log;
  EXPECT_EQ(own.object, "Status_Log__c");
  EXPECT_EQ(own.transaction_id, "RecipientTransactionId__c");
  EXPECT_EQ(own.status, "Status__c");
  EXPECT_EQ(own.time, "CreatedDate");
  const StatusLogSettings managed =
      read(jwt("  namespace: thx\n  status_log: { status: State__c }\n"))->crm.status_log;
  EXPECT_EQ(managed.object, "thx__Status_Log__c");
  EXPECT_EQ(managed.status, "State__c");
  EXPECT_THAT(faults(jwt("  status_log: { object: salesforce.log }\n")),
              ElementsAre(AllOf(HasSubstr("crm.status_log.object"), HasSubstr("a name with a dot"))));
}

TEST_F(SalesforceSettings, NamesAreOfObjectsAndFieldsThatMayDiffer) {
  EXPECT_THAT(faults(jwt("  objects: { contact: Person }\n")), ElementsAre(HasSubstr("a name of its own")));
  EXPECT_THAT(faults(jwt("  objects: { gift_record: A__c, request_record: B__c }\n  columns: { "
                         "request_record.Guard_Mark: M__c, request_record.Gift_Id: G__c }\n")),
              IsEmpty());
  EXPECT_THAT(faults(jwt("  columns: { request_record.Nope: A__c }\n")),
              ElementsAre(HasSubstr("not a field of the request record")));
  EXPECT_THAT(faults("  connection: crm.db\n  backend: sqlite\n  columns: { request_record.Gift_Id: g }\n"),
              ElementsAre(HasSubstr("\"request_record.Gift_Id\" beside crm.connection")));
  EXPECT_THAT(faults(jwt("  objects: { gift_record: \"-\" }\n")), ElementsAre(HasSubstr("not a name")));
  EXPECT_THAT(faults(jwt("  columns: { contact.Email: \"-\" }\n")),
              ElementsAre(HasSubstr("only for fields of the gift record")));
}

}  // namespace
}  // namespace giftsync::config
