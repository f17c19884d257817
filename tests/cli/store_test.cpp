#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/cli/overlap.h"
#include "daemon/store_address.h"
#include "tests/cli/desk.h"

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// The part of a key that listings show.
std::string prefix_of(const std::string& key) {
  return key.substr(0, 16);
}

TEST(CliDb, LooksWithoutMakingAnything) {
  const CliDesk desk;
  const auto version = desk.run({"db", "version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "store 0\ncrm none\n");
  const auto plan = desk.run({"db", "migrate", "--dry-run"});
  EXPECT_EQ(plan.code, 0);
  EXPECT_THAT(plan.out, HasSubstr("store 0 would become 3"));
  EXPECT_FALSE(std::filesystem::exists(desk.path("store.db")));
}

TEST(CliDb, MigratesStoreAndCrmOnceAndForAll) {
  const CliDesk desk;
  EXPECT_EQ(desk.run({"db", "migrate"}).out, "store 3\ncrm 1.8\n");
  const auto again = desk.run({"db", "migrate"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, IsEmpty());
  EXPECT_THAT(desk.run({"db", "migrate", "--dry-run"}).out, HasSubstr("store 3 stays as it is"));
  EXPECT_THAT(desk.run({"db", "version", "--json"}).out, HasSubstr("\"store\": 3"));
}

TEST(CliDb, TheFirstCommandOfANewAdminMakesTheStore) {
  const CliDesk desk;
  const auto answer =
      desk.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.err, HasSubstr("The store is new"));
  EXPECT_EQ(desk.run({"db", "version"}).out, "store 3\ncrm 1.8\n");
}

TEST(CliDb, RefusesANewerStore) {
  const CliDesk desk;
  desk.run({"db", "migrate"});
  ASSERT_EQ(std::system(("sqlite3 " + desk.path("store.db") +
                         " \"UPDATE store_fact SET value='9' WHERE name='version'\"")
                            .c_str()),
            0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"account", "list"}, {"db", "migrate"}, {"db", "migrate", "--dry-run"}}) {
    const auto answer = desk.run(words);
    EXPECT_EQ(answer.code, 78) << words.back();
    EXPECT_THAT(answer.err, AllOf(HasSubstr("version 9"), HasSubstr("newer giftsync")));
  }
}

TEST(CliDb, OnlyDbMigrateBringsAnOlderStoreUpToDate) {
  const CliDesk desk;
  desk.run({"db", "migrate"});
  ASSERT_EQ(std::system(("sqlite3 " + desk.path("store.db") +
                         " \"DROP TABLE change_review; DROP INDEX source_aside_held; "
                         "ALTER TABLE source_aside DROP COLUMN change_id; ALTER TABLE source_aside DROP "
                         "COLUMN sent_id; ALTER TABLE source DROP COLUMN to_judge; UPDATE store_fact SET "
                         "value='1' WHERE name='version'\"")
                            .c_str()),
            0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"status"}, {"gift", "list"}, {"account", "list"}}) {
    const auto answer = desk.run(words);
    EXPECT_EQ(answer.code, 78) << words.front();
    EXPECT_THAT(answer.err, AllOf(HasSubstr("of version 1"), HasSubstr("db migrate")));
  }
  EXPECT_EQ(desk.run({"db", "version"}).out, "store 1\ncrm 1.8\n") << "nothing was changed";
  EXPECT_EQ(desk.run({"db", "migrate"}).out, "store 3\ncrm 1.8\n");
  EXPECT_EQ(desk.run({"account", "list"}).code, 0);
}

TEST(CliDb, RefusesANewerCrmPackage) {
  const CliDesk desk;
  desk.run({"db", "migrate"});
  ASSERT_EQ(
      std::system(("sqlite3 " + desk.path("store.db") + " \"UPDATE crm_meta SET value='2.0'\"").c_str()), 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"account", "list"}, {"db", "migrate"}, {"db", "migrate", "--dry-run"}}) {
    const auto answer = desk.run(words);
    EXPECT_EQ(answer.code, 78) << words.back();
    EXPECT_THAT(answer.err, AllOf(HasSubstr("version 2.0"), HasSubstr("up to 1.8")));
  }
  const auto version = desk.run({"db", "version"});
  EXPECT_EQ(version.out, "store 3\ncrm 2.0\n");
  EXPECT_EQ(version.code, 78);
  EXPECT_THAT(version.err,
              AllOf(HasSubstr("install the newer giftsync again"), Not(HasSubstr("db migrate"))));
  const auto json = desk.run({"db", "version", "--json"});
  EXPECT_EQ(json.code, 78);
  EXPECT_THAT(json.out, HasSubstr("\"crm\": \"2.0\""));
}

TEST(CliDb, TellsAnOldPackageByItsColumnsAndUpgradesIt) {
  const CliDesk desk;
  ASSERT_EQ(
      std::system(("sqlite3 " + desk.path("store.db") +
                   " \"CREATE TABLE crm_gift_record (id TEXT PRIMARY KEY, recipienttransactionid BIGINT "
                   "UNIQUE); INSERT INTO crm_gift_record VALUES ('a', 7); CREATE TABLE crm_status_log (id "
                   "TEXT)\"")
                      .c_str()),
      0);
  const auto version = desk.run({"db", "version"});
  EXPECT_EQ(version.out, "store 0\ncrm 1.1\n");
  EXPECT_THAT(version.err, HasSubstr("told by their columns"));
  EXPECT_THAT(desk.run({"db", "version", "--json"}).out, HasSubstr("\"crm_recorded\": false"));
  const auto plan = desk.run({"db", "migrate", "--dry-run"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("crm 1.1 would become 1.8\n  to 1.3: crm_gift_record gets account"),
                              HasSubstr("crm_status_log is not written any more")));
  EXPECT_EQ(desk.run({"db", "version"}).out, "store 0\ncrm 1.1\n");
  EXPECT_EQ(desk.run({"db", "migrate"}).out, "store 3\ncrm 1.8\n");
  EXPECT_THAT(desk.run({"db", "migrate", "--dry-run"}).out, HasSubstr("crm 1.8 stays as it is"));
}

TEST(CliDb, SaysWhichFolderIsMissing) {
  const CliDesk desk;
  desk.write("giftsyncd.yaml",
             "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
             "store: { connection: nowhere/store.db }\n"
             "email: { directory: outbox, from: gifts@example.com }\n");
  const auto answer = desk.run({"account", "list"});
  EXPECT_EQ(answer.code, 73);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("nowhere/store.db"), HasSubstr("there is no folder")));
}

TEST(CliDb, ADatabaseThatDoesNotAnswerIsOneLine) {
  const CliDesk desk;
  desk.write("secret", "hunter2\n");
  desk.write("giftsyncd.yaml",
             "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
             "store: { backend: postgresql, connection: \"host=127.0.0.1 port=1 dbname=g\", password: "
             "\"file:secret\" }\n"
             "email: { directory: outbox, from: gifts@example.com }\n");
  const auto answer = desk.run({"account", "list"});
  EXPECT_EQ(answer.code, 69);
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  EXPECT_THAT(answer.err, AllOf(HasSubstr("store.connection"), HasSubstr("check that the server runs"),
                                Not(HasSubstr("hunter2"))));
  EXPECT_THAT(answer.out, IsEmpty());
}

TEST(CliDb, AFileThatIsNoDatabaseIsUnavailable) {
  const CliDesk desk;
  desk.write("store.db", std::string(4096, 'x'));
  const auto answer = desk.run({"account", "list"});
  EXPECT_EQ(answer.code, 69);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("store.db"), HasSubstr("not a database")));
}

TEST(CliDb, FilesMadeByRootBelongToTheOwnerOfTheFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files for others";
  constexpr uid_t kService = 4711;
  const CliDesk desk;
  ASSERT_EQ(chown(desk.path(".").c_str(), kService, kService), 0);
  ASSERT_EQ(desk.run({"account", "list"}).code, 0);
  schema::Store open(desk.address());  // keeps the log files alive
  EXPECT_TRUE(open.accounts.accounts().empty());
  ASSERT_EQ(desk.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"}).code,
            0);
  int files = 0;
  for (const std::string name : {"store.db", "store.db-wal", "store.db-shm"}) {
    struct stat found {};
    if (stat(desk.path(name).c_str(), &found) != 0) continue;
    ++files;
    EXPECT_EQ(found.st_uid, kService) << name;
    EXPECT_EQ(found.st_gid, kService) << name;
    EXPECT_EQ(found.st_mode & 0007, 0u) << name;
  }
  EXPECT_EQ(files, 3);
}

TEST(StoreAddress, KeepsThePasswordApart) {
  StoreSettings store;
  store.backend = StoreBackend::postgresql;
  store.connection = "host=db";
  EXPECT_EQ(store_address(store).connection, "host=db");
  store.password = Secret("it's a \\ b");
  EXPECT_EQ(store_address(store).connection, "host=db");
  EXPECT_EQ(store_address(store).password, "it's a \\ b");
}

TEST(CliAccount, IsCreatedListedAndSwitched) {
  const CliDesk desk;
  const auto made = desk.run({"account", "create", "--email", " Rose@Example.com ", "--name", "Rose G",
                              "--plan", "enterprise_plus"});
  EXPECT_EQ(made.code, 0);
  EXPECT_THAT(made.out, HasSubstr("Rose@Example.com"));
  EXPECT_THAT(made.err, HasSubstr(" key create --account Rose@Example.com"));
  EXPECT_THAT(desk.run({"account", "list"}).out,
              AllOf(HasSubstr("EMAIL"), HasSubstr("enterprise_plus"), HasSubstr("active")));
  EXPECT_EQ(desk.run({"account", "deactivate", "ROSE@example.com"}).code, 0);
  EXPECT_THAT(desk.run({"account", "list", "--json"}).out, HasSubstr("\"active\":false"));
  EXPECT_EQ(desk.run({"account", "activate", "rose@example.com"}).code, 0);
  EXPECT_THAT(desk.run({"account", "list", "--json"}).out,
              AllOf(HasSubstr("\"active\":true"), HasSubstr("\"created_at\":\"2026-11-21T12:31:07.000Z\"")));
}

TEST(CliAccount, GetsAnotherPlan) {
  const CliDesk desk;
  desk.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "individual"});
  const auto changed = desk.run({"account", "plan", "--email", " Rose@example.com", "--plan", "enterprise"});
  EXPECT_EQ(changed.code, 0);
  EXPECT_THAT(changed.err, HasSubstr("the plan enterprise from now on; it was individual"));
  EXPECT_THAT(desk.run({"account", "list", "--json"}).out, HasSubstr("\"plan\":\"enterprise\""));
  const auto again = desk.run({"account", "plan", "--email", "rose@example.com", "--plan", "enterprise"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("the plan enterprise already"));
  const auto back = desk.run({"account", "plan", "--email", "rose@example.com", "--plan", "individual"});
  EXPECT_THAT(back.err, AllOf(HasSubstr("it was enterprise"), HasSubstr("403")));
  const auto unknown = desk.run({"account", "plan", "--email", "b@example.com", "--plan", "team"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("b@example.com"), HasSubstr("account list")));
  const auto gold = desk.run({"account", "plan", "--email", "rose@example.com", "--plan", "gold"});
  EXPECT_EQ(gold.code, 64);
  EXPECT_THAT(gold.err, AllOf(HasSubstr("\"gold\""), HasSubstr("team, enterprise, enterprise_plus")));
}

TEST(CliAccount, RefusesASecondOneAndUnknownOnes) {
  const CliDesk desk;
  const std::vector<std::string> create{"account", "create", "--email", "a@example.com",
                                        "--name",  "A",      "--plan",  "team"};
  EXPECT_EQ(desk.run(create).code, 0);
  const auto second = desk.run(create);
  EXPECT_EQ(second.code, 65);
  EXPECT_THAT(second.err, HasSubstr("already"));
  const auto unknown = desk.run({"account", "activate", "b@example.com"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("b@example.com"), HasSubstr("account list")));
  EXPECT_EQ(desk.run({"account", "create", "--email", "no address", "--name", "A", "--plan", "team"}).code,
            64);
}

class CliKey : public ::testing::Test {
 protected:
  CliKey() { desk_.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"}); }
  std::string make_key() {
    return without_line_end(desk_.run({"key", "create", "--account", "a@example.com"}).out);
  }
  std::string json() { return desk_.run({"key", "list", "--json"}).out; }
  CliDesk desk_;
};

TEST_F(CliKey, IsPrintedAloneAndListedByItsPrefix) {
  const auto answer = desk_.run({"key", "create", "--account", "A@example.com"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.out, MatchesRegex("gsk_live_[0-9A-Za-z]{38}\n"));
  EXPECT_THAT(answer.err, HasSubstr("shown only now"));
  const std::string listing = desk_.run({"key", "list"}).out;
  EXPECT_THAT(listing, AllOf(HasSubstr(prefix_of(answer.out)), HasSubstr("send,read,request"),
                             HasSubstr("never"), Not(HasSubstr(without_line_end(answer.out)))));
}

TEST_F(CliKey, TakesScopesAndRefusesUnknownOnes) {
  EXPECT_EQ(desk_.run({"key", "create", "--account", "a@example.com", "--scope", "read,approve"}).code, 0);
  EXPECT_THAT(json(), HasSubstr("[\"read\",\"approve\"]"));
  const auto answer = desk_.run({"key", "create", "--account", "a@example.com", "--scope", "send,fly"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("--scope"), HasSubstr("\"fly\""), HasSubstr("send, read, request, approve")));
  EXPECT_EQ(desk_.run({"key", "create", "--account", "b@example.com"}).code, 65);
}

TEST_F(CliKey, IsRevokedByAnAbbreviation) {
  const std::string key = make_key();
  EXPECT_EQ(desk_.run({"key", "revoke", prefix_of(key).substr(0, 14)}).code, 0);
  EXPECT_THAT(json(), AllOf(HasSubstr("\"state\":\"revoked\""),
                            HasSubstr("\"revoked_at\":\"2026-11-21T12:31:07.000Z\"")));
  const auto again = desk_.run({"key", "revoke", prefix_of(key)});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("revoked already"));
}

TEST_F(CliKey, IsRevokedWithoutItsCommonStart) {
  const std::string key = make_key();
  EXPECT_EQ(desk_.run({"key", "revoke", key.substr(9, 7)}).code, 0);
  EXPECT_THAT(json(), HasSubstr("\"state\":\"revoked\""));
}

TEST_F(CliKey, AnAmbiguousOrUnknownPrefixChangesNothing) {
  const std::string first = make_key();
  const std::string second = make_key();
  const auto ambiguous = desk_.run({"key", "revoke", "gsk_live_"});
  EXPECT_EQ(ambiguous.code, 65);
  EXPECT_THAT(ambiguous.err,
              AllOf(HasSubstr(prefix_of(first)), HasSubstr(prefix_of(second)), HasSubstr("more characters")));
  EXPECT_EQ(desk_.run({"key", "revoke", "gsk_test_"}).code, 65);
  EXPECT_THAT(json(), Not(HasSubstr("\"state\":\"revoked\"")));
}

TEST_F(CliKey, AWholeKeyIsFoundButNeverRepeated) {
  const std::string key = make_key();
  EXPECT_THAT(desk_.run({"key", "revoke", key}).err, Not(HasSubstr(key)));
  EXPECT_THAT(json(), HasSubstr("\"state\":\"revoked\""));
}

TEST_F(CliKey, RotationLetsTheOldOneWorkUntilTheOverlapHasPassed) {
  desk_.run({"key", "create", "--account", "a@example.com", "--scope", "read"});
  const auto rotated = desk_.run({"key", "rotate", "gsk_live_"});
  EXPECT_EQ(rotated.code, 0);
  EXPECT_THAT(rotated.out, MatchesRegex("gsk_live_[0-9A-Za-z]{38}\n"));
  EXPECT_THAT(rotated.err, HasSubstr("works until 2026-11-22 12:31 UTC"));
  EXPECT_THAT(json(),
              AllOf(HasSubstr("\"state\":\"ending\""),
                    HasSubstr("\"expires_at\":\"2026-11-22T12:31:07.000Z\""), Not(HasSubstr("\"send\""))));
  desk_.now = desk_.now + schema::kDayMillis;
  EXPECT_THAT(json(), HasSubstr("\"state\":\"expired\""));
}

TEST_F(CliKey, RotationWithoutOverlapEndsTheOldOneAtOnce) {
  const std::string key = make_key();
  EXPECT_EQ(desk_.run({"key", "rotate", prefix_of(key), "--overlap", "0"}).code, 0);
  EXPECT_THAT(json(), AllOf(HasSubstr("\"state\":\"revoked\""), HasSubstr("\"state\":\"active\"")));
  const auto again = desk_.run({"key", "rotate", prefix_of(key)});
  EXPECT_EQ(again.code, 65);
  EXPECT_THAT(again.err, HasSubstr("is revoked"));
  EXPECT_THAT(again.out, IsEmpty());
}

TEST_F(CliKey, ASecondRotationDoesNotProlongTheFirstOnesOverlap) {
  const std::string key = make_key();
  desk_.run({"key", "rotate", prefix_of(key), "--overlap", "1h"});
  desk_.run({"key", "rotate", prefix_of(key), "--overlap", "30d"});
  EXPECT_THAT(json(), AllOf(HasSubstr("2026-11-21T13:31:07.000Z"), Not(HasSubstr("2026-12"))));
}

TEST_F(CliKey, RefusesAnOverlapWithoutAUnit) {
  const auto answer = desk_.run({"key", "rotate", "gsk", "--overlap", "24"});
  EXPECT_EQ(answer.code, 64);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("--overlap"), HasSubstr("\"24\""), HasSubstr("24h")));
}

TEST(Overlap, ReadsSpansWithUnits) {
  EXPECT_EQ(overlap_millis("0"), 0);
  EXPECT_EQ(overlap_millis("90s"), 90'000);
  EXPECT_EQ(overlap_millis("2h"), 2 * schema::kHourMillis);
  EXPECT_EQ(overlap_millis("365d"), 365 * schema::kDayMillis);
  for (const char* text : {"", "h", "1", "-1h", "1w", "366d", "99999999999999999999s", "1h30m", " 1h"}) {
    EXPECT_EQ(overlap_millis(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace giftsync::daemon
