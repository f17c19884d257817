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

// SYNC-74
TEST(CrmUserSettings, AliasesLeadToAddressesThatAreNoAliases) {
  const auto outcome =
      read("  sender_aliases: { \"Ana@Old.example\": ana@example.com, b@old.example: b@example.com }\n");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const auto aliases = wiring::sync_rules(*outcome).sender_aliases;
  ASSERT_THAT(aliases, SizeIs(2));
  EXPECT_EQ(aliases.at("ana@old.example"), "ana@example.com");
  struct Case {
    const char* aliases;
    const char* fault;
  };
  constexpr Case kCases[] = {
      {"{ a@x.example: b@x.example, b@x.example: c@x.example }",
       "\"b@x.example\" for \"a@x.example\", which is an alias itself"},
      {"{ a@x.example: A@X.example }", "\"A@X.example\" for \"a@x.example\", which is an alias itself"},
      {"{ a@x.example: b@x.example, A@x.example: c@x.example }", "\"A@x.example\" twice"},
      {"{ ana: a@x.example }", "where \"ana\""},
      {"{ a@x.example: [b@x.example] }", "which is not a name"}};
  for (const Case& one : kCases) {
    const auto found = faults(std::string("  sender_aliases: ") + one.aliases + "\n");
    EXPECT_THAT(found, ::testing::Contains(AllOf(HasSubstr("crm.sender_aliases"), HasSubstr(one.fault))))
        << one.aliases;
  }
  EXPECT_THAT(faults("  sender_aliases: { a@x.example: b@x.example, b@x.example: a@x.example }\n"), SizeIs(2))
      << "a loop";
  std::string many;
  for (int i = 0; i <= 1000; ++i)
    many += (i == 0 ? "" : ", ") + std::to_string(i) + "@x.example: a@y.example";
  EXPECT_THAT(faults("  sender_aliases: { " + many + " }\n"), SizeIs(1));
}

// SYNC-75
TEST(CrmUserSettings, AFallbackOwnerNeedsACrmWithUsers) {
  EXPECT_EQ(wiring::sync_rules(*read("  fallback_owner: 005F\n")).fallback_owner, "005F");
  EXPECT_THAT(faults("  connection: \"dbname=crm\"\n  tables: { user: '-' }\n  fallback_owner: 005F\n"),
              ElementsAre(AllOf(HasSubstr("crm.fallback_owner"), HasSubstr("giftsync sees"))));
}

// SYNC-76, SYNC-77
TEST(CrmUserSettings, TheTextsOfTasksHaveKnownPlaceholdersOnly) {
  const std::string crm = "  namespace: ns\ntasks: ";
  const auto outcome = read(crm +
                            "{ enabled: true, subject: \"{item} {price}\", description: \"{link}\", "
                            "due_days: 5, assignee: account_owner }\n");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const sync::TaskRules rules = wiring::sync_rules(*outcome).tasks;
  EXPECT_EQ(rules.subject, "{item} {price}");
  EXPECT_EQ(rules.description, "{link}");
  EXPECT_EQ(rules.due_days, 5);
  EXPECT_EQ(rules.assignee, sync::TaskAssignee::account_owner);
  EXPECT_THAT(wiring::external_crm_options(*outcome).task_fields, ElementsAre("Description", "ActivityDate"));
  EXPECT_TRUE(wiring::external_crm_options(*outcome).account_owners);
  EXPECT_THAT(faults(crm + "{ subject: \"for {company}\", description: \"{name\", due_days: 4000 }\n"),
              ElementsAre(AllOf(HasSubstr("tasks.subject"), HasSubstr("\"{company}\" is no placeholder"),
                                HasSubstr("{campaign}")),
                          AllOf(HasSubstr("tasks.description"), HasSubstr("\"{name\" is no placeholder")),
                          HasSubstr("tasks.due_days")));
  const sync::TaskRules defaults = wiring::sync_rules(*read("  namespace: ns\n")).tasks;
  EXPECT_EQ(defaults.subject, "Gift sent: {name}");
  EXPECT_EQ(defaults.assignee, sync::TaskAssignee::owner);
  EXPECT_THAT(wiring::external_crm_options(*read("  namespace: ns\n")).task_fields, ::testing::IsEmpty());
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
