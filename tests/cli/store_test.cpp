#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "cli/cli_context.h"
#include "cli/day_or_time.h"
#include "cli/listing.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/store_preflight.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

const std::string kStoreNumber = std::to_string(store::kStoreVersion);
const std::string kStore = "store " + kStoreNumber;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// The prefix of a key that listings show.
std::string prefix_of(const std::string& key) {
  return key.substr(0, 16);
}

TEST(CliDb, InspectsWithoutCreatingAnything) {
  const CliFixture cli(false);
  const auto version = cli.run({"db", "version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "store 0\ncrm none\n");
  const auto plan = cli.run({"db", "migrate", "--dry-run"});
  EXPECT_EQ(plan.code, 0);
  EXPECT_THAT(plan.out, HasSubstr("store 0 would become " + kStoreNumber));
  EXPECT_FALSE(std::filesystem::exists(cli.path("store.db")));
}

TEST(CliDb, MigratesStoreAndCrmOnce) {
  const CliFixture cli(false);
  EXPECT_EQ(cli.run({"db", "migrate"}).out, kStore + "\ncrm 1.8\n");
  const auto again = cli.run({"db", "migrate"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, IsEmpty());
  EXPECT_THAT(cli.run({"db", "migrate", "--dry-run"}).out, HasSubstr(kStore + " stays unchanged"));
  EXPECT_THAT(cli.run({"db", "version", "--json"}).out, HasSubstr("\"store\": " + kStoreNumber));
}

// OPS-1
TEST(CliDb, TheEnvironmentNamesTheSettingsFile) {
  const CliFixture cli;
  ASSERT_EQ(setenv("GIFTSYNC_CONFIG", cli.path("giftsyncd.yaml").c_str(), 1), 0);
  EXPECT_EQ(cli.run_bare({"db", "version"}).code, 0);
  EXPECT_EQ(cli.run_bare({"db", "version", "-c", cli.path("nowhere.yaml")}).code, 78) << "-c comes first";
  unsetenv("GIFTSYNC_CONFIG");
  EXPECT_THAT(cli.run_bare({"db", "version"}).err, HasSubstr("/etc/giftsync/giftsyncd.yaml"));
}

// OPS-17
TEST(CliDb, NoOtherCommandCreatesAStore) {
  const CliFixture cli(false);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"status"}, {"gift", "list"}, {"account", "list"}, {"source", "list"}}) {
    const auto result = cli.run(args);
    EXPECT_EQ(result.code, 66) << args.front();
    EXPECT_THAT(result.err, AllOf(HasSubstr(cli.path("store.db") + ": there is no store"),
                                  HasSubstr("giftsyncctl db migrate")));
    EXPECT_FALSE(std::filesystem::exists(cli.path("store.db"))) << args.front();
  }
}

// OPS-5
TEST(CliDb, NoStoreIsCreatedBesideItsSecret) {
  const CliFixture cli(false);
  cli.write("store.secret", "");
  const auto result = cli.run({"db", "migrate"});
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.err, AllOf(HasSubstr("there is no store, but its server secret is there"),
                                HasSubstr(cli.path("store.secret")), HasSubstr("do not stop it"),
                                HasSubstr("restore the store from its backup")));
  EXPECT_EQ(cli.run({"db", "version"}).out, "store 0\ncrm none\n");
}

// OPS-17
TEST(CliDb, AccountCreateCreatesTheStore) {
  const CliFixture cli(false);
  const auto result =
      cli.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("The store is new"));
  EXPECT_EQ(cli.run({"db", "version"}).out, kStore + "\ncrm 1.8\n");
}

// OPS-16
TEST(CliAccount, ComesWithAKeyOnRequest) {
  const CliFixture cli;
  const std::vector<std::string> create{"account", "create", "--email", "rose@example.com", "--name",
                                        "Rose",    "--plan", "team",    "--with-key"};
  const auto created = cli.run(create);
  EXPECT_EQ(created.code, 0);
  EXPECT_THAT(created.out, testing::MatchesRegex("gsk_live_[A-Za-z0-9_-]+\n")) << "the key alone";
  EXPECT_THAT(created.err, AllOf(HasSubstr("rose@example.com"), testing::Not(HasSubstr(created.out))));
  const auto keys = tests::parse_json(cli.run({"key", "list", "--json"}).out);
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0]["account"], "rose@example.com");
  EXPECT_EQ(keys[0]["state"], "active");
  EXPECT_EQ(keys[0]["scopes"], nlohmann::json({"send", "read", "request"}));
  EXPECT_THAT(created.out, testing::StartsWith(keys[0]["prefix"].get<std::string>()));

  EXPECT_EQ(cli.run(create).code, 65) << "the account exists";
  EXPECT_EQ(tests::parse_json(cli.run({"key", "list", "--json"}).out).size(), 1U);
  EXPECT_EQ(cli.run({"account", "create", "--email", "kim@example.com", "--name", "Kim", "--plan", "team",
                     "--with-key", "--json"})
                .code,
            64);
}

// ARCH-13
TEST(CliDb, RefusesANewerStore) {
  const CliFixture cli;
  cli.run({"db", "migrate"});
  ASSERT_EQ(std::system(("sqlite3 " + cli.path("store.db") +
                         " \"UPDATE store_metadata SET value='999' WHERE name='version'\"")
                            .c_str()),
            0);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"account", "list"}, {"db", "migrate"}, {"db", "migrate", "--dry-run"}}) {
    const auto result = cli.run(args);
    EXPECT_EQ(result.code, 78) << args.back();
    EXPECT_THAT(result.err, AllOf(HasSubstr("version 999"), HasSubstr("newer giftsync")));
  }
}

// OPS-18, ARCH-13
TEST(CliDb, OnlyDbMigrateUpgradesAnOlderStore) {
  config::Settings settings;
  settings.store.connection = "store.db";
  const auto refusal = refuse_older_store(settings, StoreAccess::existing, 1, 2);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->exit_code, 78);
  EXPECT_THAT(refusal->lines, testing::ElementsAre(AllOf(HasSubstr("store.db"), HasSubstr("of version 1"),
                                                         HasSubstr("db migrate"))));
  EXPECT_FALSE(refuse_older_store(settings, StoreAccess::create_or_upgrade, 1, 2));
  EXPECT_FALSE(refuse_older_store(settings, StoreAccess::existing, 2, 2));
  EXPECT_FALSE(refuse_older_store(settings, StoreAccess::existing, 0, 2)) << "a new store";
}

TEST(CliDb, RefusesAStoreOfADevelopmentVersion) {
  const CliFixture cli;
  ASSERT_EQ(
      std::system(("sqlite3 " + cli.path("store.db") +
                   " \"CREATE TABLE store_fact (name TEXT PRIMARY KEY, value TEXT NOT NULL); INSERT INTO "
                   "store_fact VALUES ('version', '3')\"")
                      .c_str()),
      0);
  for (const std::vector<std::string>& args : {std::vector<std::string>{"status"},
                                               {"account", "list"},
                                               {"db", "version"},
                                               {"db", "migrate"},
                                               {"db", "migrate", "--dry-run"}}) {
    const auto result = cli.run(args);
    EXPECT_EQ(result.code, 78) << args.back();
    EXPECT_THAT(result.err, AllOf(HasSubstr(cli.path("store.db")),
                                  HasSubstr("made by a development version; start with an empty store")));
  }
}

// SYNC-39
TEST(CliDb, RefusesANewerCrmPackage) {
  const CliFixture cli;
  cli.run({"db", "migrate"});
  ASSERT_EQ(std::system(("sqlite3 " + cli.path("store.db") + " \"UPDATE crm_meta SET value='2.0'\"").c_str()),
            0);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"account", "list"}, {"db", "migrate"}, {"db", "migrate", "--dry-run"}}) {
    const auto result = cli.run(args);
    EXPECT_EQ(result.code, 78) << args.back();
    EXPECT_THAT(result.err, AllOf(HasSubstr("version 2.0"), HasSubstr("up to 1.8")));
  }
  const auto version = cli.run({"db", "version"});
  EXPECT_EQ(version.out, kStore + "\ncrm 2.0\n");
  EXPECT_EQ(version.code, 78);
  EXPECT_THAT(version.err,
              AllOf(HasSubstr("install the newer giftsync again"), Not(HasSubstr("db migrate"))));
  const auto json = cli.run({"db", "version", "--json"});
  EXPECT_EQ(json.code, 78);
  EXPECT_THAT(json.out, HasSubstr("\"crm\": \"2.0\""));
}

// SYNC-39
TEST(CliDb, DetectsAnOldPackageByItsColumnsAndUpgradesIt) {
  const CliFixture cli(false);
  ASSERT_EQ(
      std::system(("sqlite3 " + cli.path("store.db") +
                   " \"CREATE TABLE crm_gift_record (id TEXT PRIMARY KEY, recipienttransactionid BIGINT "
                   "UNIQUE); INSERT INTO crm_gift_record VALUES ('a', 7); CREATE TABLE crm_status_log (id "
                   "TEXT)\"")
                      .c_str()),
      0);
  const auto version = cli.run({"db", "version"});
  EXPECT_EQ(version.out, "store 0\ncrm 1.1\n");
  EXPECT_THAT(version.err, HasSubstr("detected by their columns"));
  EXPECT_THAT(cli.run({"db", "version", "--json"}).out, HasSubstr("\"crm_recorded\": false"));
  const auto plan = cli.run({"db", "migrate", "--dry-run"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("crm 1.1 would become 1.8\n  to 1.3: crm_gift_record gets account"),
                              HasSubstr("crm_status_log is no longer written; its rows stay")));
  EXPECT_EQ(cli.run({"db", "version"}).out, "store 0\ncrm 1.1\n");
  EXPECT_EQ(cli.run({"db", "migrate"}).out, kStore + "\ncrm 1.8\n");
  EXPECT_THAT(cli.run({"db", "migrate", "--dry-run"}).out, HasSubstr("crm 1.8 stays unchanged"));
}

// OPS-2
TEST(CliDb, NamesTheMissingFolder) {
  const CliFixture cli;
  cli.write("giftsyncd.yaml",
            "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
            "store: { connection: nowhere/store.db }\n"
            "email: { directory: outbox, from: gifts@example.com }\n");
  const auto result = cli.run({"db", "migrate"});
  EXPECT_EQ(result.code, 73);
  EXPECT_THAT(result.err, AllOf(HasSubstr("nowhere/store.db"), HasSubstr("there is no folder")));
}

// OPS-2
TEST(CliDb, AnUnreachableDatabaseIsOneLine) {
  const CliFixture cli;
  cli.write("secret", "hunter2\n");
  cli.write("giftsyncd.yaml",
            "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
            "store: { backend: postgresql, connection: \"host=127.0.0.1 port=1 dbname=g\", password: "
            "\"file:secret\" }\n"
            "email: { directory: outbox, from: gifts@example.com }\n");
  const auto result = cli.run({"account", "list"});
  EXPECT_EQ(result.code, 69);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("store.connection"), HasSubstr("check that the server runs"),
                                Not(HasSubstr("hunter2"))));
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(CliDb, AFileThatIsNoDatabaseIsUnavailable) {
  const CliFixture cli;
  cli.write("store.db", std::string(4096, 'x'));
  const auto result = cli.run({"account", "list"});
  EXPECT_EQ(result.code, 69);
  EXPECT_THAT(result.err, AllOf(HasSubstr("store.db"), HasSubstr("not a database")));
}

// OPS-17
TEST(CliDb, FilesMadeByRootBelongToTheOwnerOfTheFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create files of other users";
  constexpr uid_t kService = 4711;
  const CliFixture cli(false);
  ASSERT_EQ(chown(cli.path(".").c_str(), kService, kService), 0);
  ASSERT_EQ(cli.run({"db", "migrate"}).code, 0);
  store::Store open(cli.address());  // keeps the log files alive
  EXPECT_TRUE(open.accounts.list().empty());
  ASSERT_EQ(cli.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"}).code,
            0);
  int files = 0;
  for (const std::string name : {"store.db", "store.db-wal", "store.db-shm"}) {
    struct stat found {};
    if (stat(cli.path(name).c_str(), &found) != 0) continue;
    ++files;
    EXPECT_EQ(found.st_uid, kService) << name;
    EXPECT_EQ(found.st_gid, kService) << name;
    EXPECT_EQ(found.st_mode & 0007, 0u) << name;
  }
  EXPECT_EQ(files, 3);
}

/// A store's folder that a service's user owns, below a folder that only root may write.
class StoreOfAnotherUser : public testing::Test {
 protected:
  static constexpr uid_t kServiceUser = 65534;
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    ASSERT_EQ(chmod(cli_.path(".").c_str(), 0755), 0);
    ASSERT_EQ(mkdir(cli_.path("state").c_str(), 0750), 0);
    ASSERT_EQ(chown(cli_.path("state").c_str(), kServiceUser, kServiceUser), 0);
    cli_.write("giftsyncd.yaml",
               "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
               "store: { connection: state/store.db }\n"
               "email: { directory: outbox, from: gifts@example.com }\n");
    ASSERT_EQ(chmod(cli_.path("giftsyncd.yaml").c_str(), 0600), 0) << "root alone reads it";
  }
  /// giftsyncctl as root, in a process of its own, which does not become root again. What it prints goes to
  /// "out".
  int run(std::vector<std::string> args) {
    args.insert(args.begin(), {"--config", cli_.path("giftsyncd.yaml")});
    std::ofstream out(cli_.path("out"));
    const pid_t child = fork();
    if (child == 0) {
      std::istringstream in;
      const int code = run_command(
          args, Console{out, out, in, false, [] { return UtcMillis{1}; }, [] { return false; }, true});
      out.flush();
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::ifstream printed(cli_.path("out"));
    printed_.assign(std::istreambuf_iterator<char>(printed), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  CliFixture cli_{false};
  std::string printed_;
};

// SEC-8
TEST_F(StoreOfAnotherUser, IsMadeAndUsedByThatUser) {
  ASSERT_EQ(run({"db", "migrate"}), 0) << printed_;
  struct stat found {};
  ASSERT_EQ(stat(cli_.path("state/store.db").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, kServiceUser);
  cli_.write("items.csv",
             "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
             "1,Coffee,A cup,5.00,,0.10,0.35\n");
  ASSERT_EQ(chmod(cli_.path("items.csv").c_str(), 0600), 0) << "root alone reads it";
  EXPECT_EQ(run({"item", "import", cli_.path("items.csv")}), 0) << printed_;
  EXPECT_THAT(printed_, HasSubstr("1 new"));
}

// SEC-8
TEST_F(StoreOfAnotherUser, LeadsRootToNoOtherFile) {
  CliFixture victim;  // root's own store
  const std::string file = victim.path("store.db");
  ASSERT_EQ(chmod(victim.path(".").c_str(), 0755), 0) << "the file itself is what is closed to others";
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(symlink(file.c_str(), cli_.path("state/store.db").c_str()), 0);
  EXPECT_EQ(run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"}), 77);
  EXPECT_THAT(printed_, HasSubstr("the store cannot be opened"));
  EXPECT_TRUE(store::Store(victim.address()).accounts.list().empty());
}

// SEC-8
TEST_F(StoreOfAnotherUser, OwnsAlsoWhatIsLinkedBehindIt) {
  ASSERT_EQ(mkdir(cli_.path("root").c_str(), 0755), 0);
  ASSERT_EQ(symlink(cli_.path("root").c_str(), cli_.path("state/data").c_str()), 0);
  const auto owner = wiring::other_owner_of_folder(cli_.path("state/data/store.db"));
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->user, kServiceUser) << "the link may lead elsewhere at any time";
  EXPECT_FALSE(wiring::other_owner_of_folder(cli_.path("root/store.db")));
  EXPECT_FALSE(wiring::other_owner_of_folder(cli_.path("missing/store.db")));
  EXPECT_FALSE(wiring::other_owner_of_folder(cli_.path("root/../missing/store.db")));
}

// SEC-8
TEST_F(StoreOfAnotherUser, StaysItsOwnersWhenAPartOfTheWayIsMissing) {
  ASSERT_EQ(mkdir(cli_.path("root").c_str(), 0755), 0);
  ASSERT_EQ(symlink(cli_.path("root").c_str(), cli_.path("state/link").c_str()), 0);
  ASSERT_EQ(symlink("state/missing", cli_.path("behind").c_str()), 0);
  ASSERT_EQ(symlink("state/link", cli_.path("through").c_str()), 0);
  for (const char* store :
       {"state/missing/store.db", "behind/store.db", "through/store.db", "state/../root/store.db"}) {
    const auto owner = wiring::other_owner_of_folder(cli_.path(store));
    ASSERT_TRUE(owner) << store << ": its owner can rename or replace it at any time";
    EXPECT_EQ(owner->user, kServiceUser) << store;
    EXPECT_EQ(owner->refusal, "") << store;
  }
}

// SEC-8
TEST_F(StoreOfAnotherUser, IsNotFollowedToWhatCannotBeRead) {
  ASSERT_EQ(symlink("loop", cli_.path("loop").c_str()), 0);
  for (const char* store : {"loop/store.db", "giftsyncd.yaml/a/store.db"}) {
    const auto owner = wiring::other_owner_of_folder(cli_.path(store));
    ASSERT_TRUE(owner) << store;
    EXPECT_THAT(owner->refusal, HasSubstr("cannot tell whose it is")) << store;
    EXPECT_EQ(wiring::become(*owner), owner->refusal) << store;
  }
}

// SEC-8
TEST_F(StoreOfAnotherUser, InAFolderThatOthersMayWriteToIsItsFilesOwners) {
  const std::string folder = cli_.path("shared");
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  ASSERT_EQ(chown(folder.c_str(), 0, kServiceUser), 0);
  ASSERT_EQ(mkdir((folder + "/root").c_str(), 0755), 0);
  cli_.write("shared/root/store.db", "");
  cli_.write("shared/root.db", "");
  cli_.write("shared/other.db", "");
  ASSERT_EQ(chown((folder + "/other.db").c_str(), kServiceUser, kServiceUser), 0);
  ASSERT_EQ(symlink("other.db", (folder + "/link.db").c_str()), 0);
  enum Answer { root, refused, service };
  const struct {
    mode_t mode;
    const char* store;
    Answer answer;
  } cases[] = {{0755, "other.db", root},
               {0755, "link.db", root},
               {02770, "other.db", service},
               {02770, "root.db", refused},
               {02770, "link.db", refused},
               {02770, "missing.db", refused},
               {02770, "root/store.db", refused},
               {02770, "missing/store.db", refused},
               {0757, "link.db", refused},
               {01777, "other.db", service},
               {01777, "link.db", refused},
               {01777, "missing.db", refused},
               {01777, "root/store.db", root},
               {01777, "root/missing/store.db", root},
               {01777, "missing/store.db", refused}};
  for (const auto& one : cases) {
    ASSERT_EQ(chmod(folder.c_str(), one.mode), 0);
    const auto owner = wiring::other_owner_of_folder(folder + "/" + one.store);
    ASSERT_EQ(owner.has_value(), one.answer != root) << one.store << " " << one.mode;
    if (!owner) continue;
    EXPECT_EQ(owner->user, one.answer == service ? kServiceUser : 0) << one.store << " " << one.mode;
    EXPECT_EQ(owner->refusal.empty(), one.answer == service) << one.store << " " << one.mode;
  }
}

// SEC-8
TEST_F(StoreOfAnotherUser, WhoIsUnknownDoesNotKeepRootsGroup) {
  constexpr uid_t kUnknown = 3999999999;
  const auto fault = wiring::become({kUnknown, 0, {}});
  ASSERT_TRUE(fault);
  EXPECT_THAT(*fault, HasSubstr("the group is root's"));
  EXPECT_EQ(geteuid(), 0u);
}

TEST(StoreAddress, KeepsThePasswordApart) {
  config::StoreSettings store;
  store.backend = config::StoreBackend::postgresql;
  store.connection = "host=db";
  EXPECT_EQ(wiring::store_dsn(store).connection, "host=db");
  store.password = config::Secret("it's a \\ b");
  EXPECT_EQ(wiring::store_dsn(store).connection, "host=db");
  EXPECT_EQ(wiring::store_dsn(store).password, "it's a \\ b");
}

TEST(CliAccount, IsCreatedListedAndSwitched) {
  const CliFixture cli;
  const auto made = cli.run({"account", "create", "--email", " Rose@Example.com ", "--name", "Rose G",
                             "--plan", "enterprise_plus"});
  EXPECT_EQ(made.code, 0);
  EXPECT_THAT(made.out, HasSubstr("Rose@Example.com"));
  EXPECT_THAT(made.err, HasSubstr(" key create --account Rose@Example.com"));
  EXPECT_THAT(cli.run({"account", "list"}).out,
              AllOf(HasSubstr("EMAIL"), HasSubstr("enterprise_plus"), HasSubstr("active")));
  EXPECT_EQ(cli.run({"account", "deactivate", "ROSE@example.com"}).code, 0);
  EXPECT_THAT(cli.run({"account", "list", "--json"}).out, HasSubstr("\"active\":false"));
  EXPECT_EQ(cli.run({"account", "activate", "rose@example.com"}).code, 0);
  EXPECT_THAT(cli.run({"account", "list", "--json"}).out,
              AllOf(HasSubstr("\"active\":true"), HasSubstr("\"created_at\":\"2026-11-21T12:31:07.000Z\"")));
}

// OPS-16
TEST(CliAccount, CreatePrintsTheSameJsonAsTheListing) {
  const CliFixture cli;
  const auto made = cli.run(
      {"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team", "--json"});
  EXPECT_EQ(made.code, 0);
  EXPECT_EQ(tests::parse_ordered_json(made.out),
            tests::parse_ordered_json(cli.run({"account", "list", "--json"}).out)[0]);
}

TEST(CliAccount, GetsAnotherPlan) {
  const CliFixture cli;
  cli.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "individual"});
  const auto changed = cli.run({"account", "set-plan", " Rose@example.com", "--plan", "enterprise"});
  EXPECT_EQ(changed.code, 0);
  EXPECT_THAT(changed.err, HasSubstr("now has the plan enterprise; it was individual"));
  EXPECT_THAT(cli.run({"account", "list", "--json"}).out, HasSubstr("\"plan\":\"enterprise\""));
  const auto again = cli.run({"account", "set-plan", "rose@example.com", "--plan", "enterprise"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("already has the plan enterprise"));
  const auto back = cli.run({"account", "set-plan", "rose@example.com", "--plan", "individual"});
  EXPECT_THAT(back.err, AllOf(HasSubstr("it was enterprise"), HasSubstr("403")));
  const auto unknown = cli.run({"account", "set-plan", "b@example.com", "--plan", "team"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("b@example.com"), HasSubstr("account list")));
  const auto gold = cli.run({"account", "set-plan", "rose@example.com", "--plan", "gold"});
  EXPECT_EQ(gold.code, 64);
  EXPECT_THAT(gold.err, AllOf(HasSubstr("\"gold\""), HasSubstr("team, enterprise, enterprise_plus")));
}

TEST(CliAccount, RefusesASecondOneAndUnknownOnes) {
  const CliFixture cli;
  const std::vector<std::string> create{"account", "create", "--email", "a@example.com",
                                        "--name",  "A",      "--plan",  "team"};
  EXPECT_EQ(cli.run(create).code, 0);
  const auto second = cli.run(create);
  EXPECT_EQ(second.code, 65);
  EXPECT_THAT(second.err, HasSubstr("already"));
  const auto unknown = cli.run({"account", "activate", "b@example.com"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("b@example.com"), HasSubstr("account list")));
  EXPECT_EQ(cli.run({"account", "create", "--email", "no address", "--name", "A", "--plan", "team"}).code,
            64);
}

class CliKey : public ::testing::Test {
 protected:
  CliKey() { cli_.run({"account", "create", "--email", "a@example.com", "--name", "A", "--plan", "team"}); }
  std::string make_key() {
    return without_line_end(cli_.run({"key", "create", "--account", "a@example.com"}).out);
  }
  std::string json() { return cli_.run({"key", "list", "--json"}).out; }
  CliFixture cli_;
};

TEST_F(CliKey, IsPrintedAloneAndListedByItsPrefix) {
  const auto result = cli_.run({"key", "create", "--account", "A@example.com"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, MatchesRegex("gsk_live_[0-9A-Za-z]{38}\n"));
  EXPECT_THAT(result.err, HasSubstr("shown only now"));
  const std::string listing = cli_.run({"key", "list"}).out;
  EXPECT_THAT(listing, AllOf(HasSubstr(prefix_of(result.out)), HasSubstr("send,read,request"),
                             HasSubstr("never"), Not(HasSubstr(without_line_end(result.out)))));
}

// OPS-16
TEST_F(CliKey, CreatePrintsTheKeyOnceInJson) {
  const auto made = cli_.run({"key", "create", "--account", "A@example.com", "--scope", "read", "--json"});
  ASSERT_EQ(made.code, 0);
  const Json shown = tests::parse_ordered_json(made.out);
  const std::string key = shown["key"];
  EXPECT_THAT(key, MatchesRegex("gsk_live_[0-9A-Za-z]{38}"));
  EXPECT_EQ(made.out.find(key), made.out.rfind(key));
  EXPECT_EQ(shown["prefix"], prefix_of(key));
  EXPECT_EQ(shown["account"], "a@example.com");
  EXPECT_EQ(shown["scopes"], tests::parse_ordered_json("[\"read\"]"));
  EXPECT_EQ(shown["created_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_THAT(made.err, Not(HasSubstr(key)));
}

TEST_F(CliKey, AcceptsScopesAndRefusesUnknownOnes) {
  EXPECT_EQ(cli_.run({"key", "create", "--account", "a@example.com", "--scope", "read,approve"}).code, 0);
  EXPECT_THAT(json(), HasSubstr("[\"read\",\"approve\"]"));
  const auto result = cli_.run({"key", "create", "--account", "a@example.com", "--scope", "send,fly"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("--scope"), HasSubstr("\"fly\""), HasSubstr("send, read, request, approve")));
  EXPECT_EQ(cli_.run({"key", "create", "--account", "b@example.com"}).code, 65);
}

TEST_F(CliKey, IsRevokedByAnAbbreviation) {
  const std::string key = make_key();
  EXPECT_EQ(cli_.run({"key", "revoke", prefix_of(key).substr(0, 14), "--yes"}).code, 0);
  EXPECT_THAT(json(), AllOf(HasSubstr("\"state\":\"revoked\""),
                            HasSubstr("\"revoked_at\":\"2026-11-21T12:31:07.000Z\"")));
  const auto again = cli_.run({"key", "revoke", prefix_of(key), "--yes"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("already revoked"));
}

TEST_F(CliKey, HasANameThatListingsShowAndOtherCommandsFind) {
  const auto create = [&](const std::string& name) {
    return cli_.run({"key", "create", "--account", "a@example.com", "--name", name, "--json"});
  };
  EXPECT_EQ(tests::parse_ordered_json(create("website").out)["name"], "website");
  const std::string unnamed = make_key();
  EXPECT_THAT(cli_.run({"key", "list"}).out, HasSubstr("website"));
  const auto namesake = create(" website");
  EXPECT_EQ(namesake.code, 65);
  EXPECT_THAT(namesake.err, AllOf(HasSubstr("already has a key named \"website\""), HasSubstr("key rotate")));
  for (const char* name : {"", " ", "two\nlines", "gsk_live_abc",
                           "01234567890123456789012345678901234567890123456789012345678901234"})
    EXPECT_EQ(create(name).code, 64) << name;

  EXPECT_EQ(cli_.run({"key", "rotate", "website", "--grace", "30m"}).code, 0);
  const auto rotated = cli_.run({"key", "rotate", "website", "--grace", "1h", "--json"});
  ASSERT_EQ(rotated.code, 0);
  EXPECT_EQ(tests::parse_ordered_json(rotated.out)["name"], "website") << "the successor has the name too";
  EXPECT_EQ(cli_.run({"key", "revoke", "website", "--yes"}).code, 0);
  const Json keys = tests::parse_ordered_json(json());
  ASSERT_EQ(keys.size(), 4u);
  for (const Json& one : keys) {
    const bool is_unnamed = one["prefix"] == prefix_of(unnamed);
    EXPECT_EQ(one["name"].is_null(), is_unnamed);
    EXPECT_EQ(one["state"], is_unnamed ? "active" : "revoked") << "also those in their grace period";
  }
  EXPECT_EQ(create("website").code, 0) << "the name is free again";
}

/// A leaked key must not wait for the correction of a typo.
TEST_F(CliKey, IsRevokedAlthoughTheSettingsHaveFaultsElsewhere) {
  const std::string key = make_key();
  cli_.write_settings("log: { level: warn }\n");
  EXPECT_EQ(cli_.run({"gift", "list"}).code, 78) << "it needs more than the store";
  EXPECT_THAT(cli_.run({"key", "list"}).out, HasSubstr(prefix_of(key)));
  const auto revoked = cli_.run({"key", "revoke", prefix_of(key), "--yes"});
  EXPECT_EQ(revoked.code, 0) << revoked.err;
  EXPECT_THAT(revoked.err,
              AllOf(HasSubstr("is revoked"), HasSubstr("has 1 fault, which this command does not")));
  EXPECT_THAT(json(), HasSubstr("\"state\":\"revoked\""));
  EXPECT_EQ(cli_.run({"account", "deactivate", "a@example.com"}).code, 0);
  EXPECT_EQ(cli_.run({"account", "activate", "a@example.com"}).code, 78) << "it also retries requests";
}

TEST_F(CliKey, IsRevokedWithoutItsCommonStart) {
  const std::string key = make_key();
  EXPECT_EQ(cli_.run({"key", "revoke", key.substr(9, 7), "--yes"}).code, 0);
  EXPECT_THAT(json(), HasSubstr("\"state\":\"revoked\""));
}

TEST_F(CliKey, AnAmbiguousOrUnknownPrefixChangesNothing) {
  const std::string first = make_key();
  const std::string second = make_key();
  const auto ambiguous = cli_.run({"key", "revoke", "gsk_live_", "--yes"});
  EXPECT_EQ(ambiguous.code, 65);
  EXPECT_THAT(ambiguous.err,
              AllOf(HasSubstr(prefix_of(first)), HasSubstr(prefix_of(second)), HasSubstr("more characters")));
  EXPECT_EQ(cli_.run({"key", "revoke", "gsk_test_", "--yes"}).code, 65);
  EXPECT_THAT(json(), Not(HasSubstr("\"state\":\"revoked\"")));
}

TEST_F(CliKey, AWholeKeyIsFoundButNeverRepeated) {
  const std::string key = make_key();
  EXPECT_THAT(cli_.run({"key", "revoke", key, "--yes"}).err, Not(HasSubstr(key)));
  EXPECT_THAT(json(), HasSubstr("\"state\":\"revoked\""));
}

// HTTP-31
TEST_F(CliKey, RotationKeepsTheOldKeyForTheGracePeriod) {
  cli_.run({"key", "create", "--account", "a@example.com", "--scope", "read"});
  const auto rotated = cli_.run({"key", "rotate", "gsk_live_"});
  EXPECT_EQ(rotated.code, 0);
  EXPECT_THAT(rotated.out, MatchesRegex("gsk_live_[0-9A-Za-z]{38}\n"));
  EXPECT_THAT(rotated.err, HasSubstr("works until 2026-11-22 12:31 UTC"));
  EXPECT_THAT(json(),
              AllOf(HasSubstr("\"state\":\"expiring\""),
                    HasSubstr("\"expires_at\":\"2026-11-22T12:31:07.000Z\""), Not(HasSubstr("\"send\""))));
  cli_.now = cli_.now + kDayMillis;
  EXPECT_THAT(json(), HasSubstr("\"state\":\"expired\""));
}

// covers: GUARD-24
TEST_F(CliKey, RotationNamesTheApprovalRulesThatDoNotKnowTheNewKey) {
  const std::string old = make_key().substr(0, 16);
  cli_.write_settings("sending: { approval: { rules: [{ name: agency, credentials: [" + old +
                      "] }, { name: any, credentials: [gsk_live_] }, { name: other, credentials: "
                      "[gsk_live_000000A] }] } }\n");
  const auto rotated = cli_.run({"key", "rotate", old});
  ASSERT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_THAT(rotated.err, AllOf(HasSubstr("The rule \"agency\" of sending.approval.rules names the old " +
                                           old + ", so it holds nothing of the new one: add " +
                                           rotated.out.substr(0, 16) + " to its credentials"),
                                 Not(HasSubstr("\"any\"")), Not(HasSubstr("\"other\""))));
}

TEST_F(CliKey, RotationWithoutGraceEndsTheOldKeyAtOnce) {
  const std::string key = make_key();
  EXPECT_EQ(cli_.run({"key", "rotate", prefix_of(key), "--grace", "0"}).code, 0);
  EXPECT_THAT(json(), AllOf(HasSubstr("\"state\":\"revoked\""), HasSubstr("\"state\":\"active\"")));
  const auto again = cli_.run({"key", "rotate", prefix_of(key)});
  EXPECT_EQ(again.code, 65);
  EXPECT_THAT(again.err, HasSubstr("is revoked"));
  EXPECT_THAT(again.out, IsEmpty());
}

TEST_F(CliKey, ASecondRotationDoesNotExtendTheGracePeriod) {
  const std::string key = make_key();
  cli_.run({"key", "rotate", prefix_of(key), "--grace", "1h"});
  cli_.run({"key", "rotate", prefix_of(key), "--grace", "30d"});
  EXPECT_THAT(json(), AllOf(HasSubstr("2026-11-21T13:31:07.000Z"), Not(HasSubstr("2026-12"))));
}

TEST_F(CliKey, RefusesAGracePeriodWithoutAUnit) {
  const auto result = cli_.run({"key", "rotate", "gsk", "--grace", "24"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--grace"), HasSubstr("\"24\""), HasSubstr("24h")));
}

TEST(Duration, ParsesNumbersWithUnits) {
  EXPECT_EQ(parse_duration("0"), 0);
  EXPECT_EQ(parse_duration("90s"), 90'000);
  EXPECT_EQ(parse_duration("2h"), 2 * kHourMillis);
  EXPECT_EQ(parse_duration("365d"), 365 * kDayMillis);
  for (const char* text : {"", "h", "1", "-1h", "1w", "366d", "99999999999999999999s", "1h30m", " 1h"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

// SEC-8
TEST(CliPostgresql, RootIsToldWhichCommandWorksWithPeerAuthentication) {
  config::Settings settings;
  settings.file = "/etc/giftsync/giftsyncd.yaml";
  settings.store.backend = config::StoreBackend::postgresql;
  settings.store.connection = "host=/run/postgresql dbname=giftsync";
  const auto message = [&](const std::string& error) {
    return database_failure(settings, DependencyError(true, "the database cannot be reached: " + error));
  };
  const std::string role = message("FATAL: role \"root\" does not exist");
  if (geteuid() == 0)
    EXPECT_THAT(role, AllOf(HasSubstr("role \"root\" does not exist"),
                            HasSubstr("runuser -u giftsync -- giftsyncctl "),
                            Not(HasSubstr("check that the server runs"))));
  else
    EXPECT_THAT(role, HasSubstr("check that the server runs"));
  EXPECT_THAT(message("connection refused"), HasSubstr("check that the server runs"));
}

}  // namespace
}  // namespace giftsync::cli
