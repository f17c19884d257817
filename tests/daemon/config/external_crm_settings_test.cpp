// The settings of an external CRM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/config/read_settings.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "schema/sql/database_file.h"
#include "tests/support/other_user.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

tl::expected<Settings, SettingsFaults> read(const std::string& crm) {
  return read_settings_text(
      "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
      "store: { connection: store.db }\n"
      "email: { directory: outbox, from: gifts@example.com }\n"
      "crm:\n" +
          crm,
      "/etc/giftsync/giftsyncd.yaml");
}

std::vector<std::string> faults(const std::string& crm) {
  const auto outcome = read(crm);
  return outcome ? std::vector<std::string>() : outcome.error().lines;
}

TEST(ExternalCrmSettings, AMinimalConfigurationIsEnough) {
  const auto outcome = read(
      "  connection: \"host=db dbname=crm\"\n  namespace: ns\n  schema: salesforce\n  id_column: sfid\n"
      "  tables: { user: '-', gift_record: other.gifts }\n  columns: { contact.Email: mail }\n");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const auto& settings = outcome.value();
  EXPECT_EQ(settings.crm.kind(), CrmKind::external);
  const crm::external::ExternalCrmOptions options = wiring::external_crm_options(settings);
  EXPECT_EQ(options.database.dialect, sql::Dialect::postgresql);
  EXPECT_EQ(options.names.schema, "salesforce");
  EXPECT_EQ(options.names.tables.at("gift_record"), "other.gifts");
  EXPECT_FALSE(wiring::crm_has_users(settings));
  EXPECT_EQ(options.names.columns.at("contact.Email"), "mail");
}

TEST(ExternalCrmSettings, ASqlitePathIsRelativeToTheSettingsFile) {
  const auto outcome = read("  connection: crm.db\n  backend: sqlite\n");
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome.value().crm.connection, "/etc/giftsync/crm.db");
  EXPECT_TRUE(wiring::crm_has_users(outcome.value()));
}

TEST(ExternalCrmSettings, AReadOnlySqliteFileIsAFault) {
  const tests::OpenFolder folder;
  const std::string file = folder.path("crm.db");
  std::ofstream(file).close();
  folder.allow("crm.db", 0444);
  const tests::OtherUser other;
  Settings settings;
  settings.crm.backend = StoreBackend::sqlite;
  settings.crm.connection = file;
  EXPECT_THAT(wiring::check_crm(settings).faults,
              ElementsAre(AllOf(HasSubstr("crm.connection: the user " + sql::user_name(::geteuid()) +
                                          " may not write to the file " + file),
                                HasSubstr("let that user write to it"))));
}

TEST(ExternalCrmSettings, InvalidNamesAreRefusedWithTheirLine) {
  EXPECT_THAT(
      faults("  connection: \"dbname=crm\"\n  schema: 'a b'\n  tables: { usr: users, user: 'a.b.c' }\n"
             "  columns: { Email: mail, contact.Email: 'e\"mail', gift_record.Link: link }\n"),
      ElementsAre(
          HasSubstr(":6: crm.schema"),
          AllOf(HasSubstr(":7: crm.tables"), HasSubstr("\"usr\""), HasSubstr("not an object of the CRM")),
          AllOf(HasSubstr(":7: crm.tables"), HasSubstr("a.b.c")),
          AllOf(HasSubstr(":8: crm.columns"), HasSubstr("OBJECT.FIELD")),
          AllOf(HasSubstr(":8: crm.columns"), HasSubstr("contact.Email")),
          AllOf(HasSubstr(":8: crm.columns"), HasSubstr("not a field of the gift record"))));
}

TEST(ExternalCrmSettings, KeysWithoutAConnectionAreFaults) {
  EXPECT_THAT(faults("  id_column: sfid\n"), ElementsAre(HasSubstr("missing crm.connection")));
  EXPECT_THAT(faults("  connection: crm.db\n  backend: sqlite\n  schema: s\n"), SizeIs(1));
}

// SYNC-50
TEST(ExternalCrmSettings, RequestRecordsNeedTheManagedCrm) {
  const std::string external = "  connection: crm.db\n  backend: sqlite\n";
  EXPECT_THAT(faults(external + "requests: { enabled: true }\n"),
              ElementsAre(AllOf(HasSubstr(":7: requests.enabled: found true beside crm.connection"),
                                HasSubstr("allowed: false"),
                                HasSubstr("request records exist in the built-in CRM and in Salesforce"),
                                HasSubstr("remove crm.connection"))));
  EXPECT_THAT(faults(external + "requests: { enabled: false }\n"), SizeIs(0));
  EXPECT_THAT(faults("  type: sql\nrequests: { enabled: true }\n"), SizeIs(0));
}

TEST(ExternalCrmSettings, APasswordIsGivenOnce) {
  EXPECT_THAT(faults("  connection: \"dbname=crm password=x\"\n  password: \"env:HOME\"\n"),
              ElementsAre(AllOf(HasSubstr("crm.connection"), HasSubstr("one password"))));
}

}  // namespace
}  // namespace giftsync::config
