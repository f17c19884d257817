#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/listing.h"
#include "platform/digest.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

class CliConsole : public testing::Test {
 protected:
  CliConsole() { cli_.write_settings("console: { enabled: true }\n"); }
  CliFixture::Result create(const std::string& email, const std::string& roles = "operator") {
    return cli_.run({"user", "create", "--email", email, "--grant", roles});
  }
  Json users() { return tests::parse_ordered_json(cli_.run({"user", "list", "--json"}).out); }
  CliFixture cli_;
};

// CON-5, CON-6
TEST_F(CliConsole, UsersAreCreatedListedGrantedAndDeactivated) {
  EXPECT_THAT(cli_.run({"user", "list"}).err, HasSubstr("No users yet"));
  EXPECT_EQ(create("ana@example.com", "operator,admin").code, 0);
  EXPECT_EQ(create("ANA@example.com").code, 65);
  EXPECT_EQ(create("no address").code, 64);
  EXPECT_EQ(create("ben@example.com", "king").code, 64);
  EXPECT_EQ(cli_.run({"user", "create", "--email", "c@x.com", "--organization", "None"}).code, 65);
  EXPECT_EQ(users()[0]["roles"].size(), 2u);
  EXPECT_EQ(users()[0]["roles"][0]["origin"], "granted");
  EXPECT_EQ(cli_.run({"user", "grant", "ana@example.com", "auditor"}).code, 0);
  EXPECT_EQ(cli_.run({"user", "revoke", "ana@example.com", "admin,operator"}).code, 0);
  EXPECT_EQ(users()[0]["roles"][0]["role"], "auditor");
  EXPECT_EQ(cli_.run({"user", "deactivate", "ana@example.com"}).code, 0);
  EXPECT_EQ(users()[0]["active"], false);
  EXPECT_THAT(cli_.run({"user", "deactivate", "ana@example.com"}).err, HasSubstr("already deactivated"));
  EXPECT_EQ(cli_.run({"console", "sign-in-link", "--user", "ana@example.com"}).code, 65);
  EXPECT_EQ(cli_.run({"user", "activate", "ana@example.com"}).code, 0);
  EXPECT_EQ(cli_.run({"user", "grant", "none@example.com", "auditor"}).code, 65);
  EXPECT_THAT(cli_.run({"user", "list"}).out, AllOf(HasSubstr("ana@example.com"), HasSubstr("auditor")));
}

// SIGN-16
TEST_F(CliConsole, ARevokeSaysThatARoleFromAGroupStays) {
  create("ana@example.com", "admin");
  {
    store::Store store(cli_.address());
    const auto ana = store.console_users.find_by_email("ana@example.com");
    store.console_users.replace_roles(ana->id, RoleOrigin::group,
                                      {{Role::admin, RoleOrigin::group, "Gift admins", cli_.now}}, {});
  }
  EXPECT_THAT(cli_.run({"user", "revoke", "ana@example.com", "admin"}).err,
              AllOf(HasSubstr("lost the granted role admin"),
                    HasSubstr("still has the role admin from the group \"Gift admins\""),
                    Not(HasSubstr("permission set"))));
}

// CON-15
TEST_F(CliConsole, ALinkIsPrintedAloneAndStoredHashed) {
  create("ana@example.com");
  const auto made = cli_.run({"console", "sign-in-link", "--user", "ana@example.com", "--minutes", "5"});
  EXPECT_EQ(made.code, 0);
  ASSERT_THAT(made.out, MatchesRegex("http://127.0.0.1:8480/console/link/[-_0-9A-Za-z]{43}\n"));
  const std::string token = made.out.substr(made.out.rfind('/') + 1, 43);
  EXPECT_EQ(made.err.find(token), std::string::npos);
  store::Store store(cli_.address());
  const auto link = store.console_sessions.find_link(sha256_hex(token), cli_.now);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->expires_at, cli_.now + 300'000);
  EXPECT_FALSE(store.console_sessions.find_link(token, cli_.now));
  EXPECT_EQ(cli_.run({"console", "sign-in-link", "--user", "ana@example.com", "--minutes", "61"}).code, 64);
  EXPECT_EQ(cli_.run({"console", "sign-in-link", "--user", "none@example.com"}).code, 65);
  const Json json = tests::parse_ordered_json(
      cli_.run({"console", "sign-in-link", "--user", "ana@example.com", "--json"}).out);
  EXPECT_EQ(json["user"], "ana@example.com");
}

// CON-15, CON-9
TEST_F(CliConsole, ALinkIsRefusedWithoutTheConsoleAndWithoutTls) {
  create("ana@example.com");
  cli_.write_settings("");
  const auto off = cli_.run({"console", "sign-in-link", "--user", "ana@example.com"});
  EXPECT_EQ(off.code, 78);
  EXPECT_THAT(off.err, HasSubstr("console.enabled"));
  EXPECT_THAT(off.out, IsEmpty());
  cli_.write("giftsyncd.yaml",
             "server: { base_url: \"http://gifts.example.com\", admin_url: \"http://gifts.example.com\" }\n"
             "store: { connection: store.db }\nemail: { directory: outbox, from: gifts@example.com }\n");
  const auto plain = cli_.run({"console", "sign-in-link", "--user", "ana@example.com"});
  EXPECT_EQ(plain.code, 78);
  EXPECT_THAT(plain.err, HasSubstr("server.admin_url"));
}

// CON-1, CON-8
TEST_F(CliConsole, SessionsAreListedAndEndedAndEverythingIsAudited) {
  create("ana@example.com");
  EXPECT_THAT(cli_.run({"session", "list"}).err, HasSubstr("No one is signed in"));
  store::Store store(cli_.address());
  const auto user = store.console_users.find_by_email("ana@example.com");
  store::ConsoleSession session;
  session.user = user->id;
  session.created_at = session.last_seen_at = session.authenticated_at = cli_.now;
  session.expires_at = cli_.now + 1000;
  for (const std::string hash : {"abcdef0123456789", "abcdee0123456789"}) {
    session.id_hash = hash;
    store.console_sessions.create(session, {});
  }
  EXPECT_THAT(cli_.run({"session", "list"}).out, HasSubstr("abcdef012345"));
  EXPECT_EQ(tests::parse_ordered_json(cli_.run({"session", "list", "--json"}).out)[0]["by"], "link");
  EXPECT_EQ(cli_.run({"session", "end", "abcde"}).code, 65);
  EXPECT_EQ(cli_.run({"session", "end"}).code, 64);
  EXPECT_EQ(cli_.run({"session", "end", "abcdef"}).code, 0);
  EXPECT_EQ(cli_.run({"session", "end", "abcdef"}).code, 65);
  EXPECT_THAT(cli_.run({"session", "end", "--user", "ana@example.com"}).err, HasSubstr("1 session of"));
  const Json events =
      tests::parse_ordered_json(cli_.run({"audit", "list", "--action", "session.", "--json"}).out);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["actor_kind"], "command");
  EXPECT_EQ(events[0]["object_id"], "ana@example.com");
  EXPECT_EQ(events[1]["detail"], "abcdef012345");
  EXPECT_THAT(cli_.run({"audit", "list"}).out, AllOf(HasSubstr("user.create"), HasSubstr("session.end")));
  EXPECT_EQ(tests::parse_ordered_json(cli_.run({"audit", "list", "--limit", "1", "--json"}).out).size(), 1u);
  EXPECT_EQ(cli_.run({"audit", "list", "--since", "yesterday"}).code, 64);
}

// covers: OPS-16
TEST_F(CliConsole, AnAuditListThatEndsAtItsLimitSaysHowToGetMore) {
  store::Store store(cli_.address());
  store::AuditEvent event;
  event.occurred_at = cli_.now;
  event.action = "user.create";
  for (int i = 0; i < 100; ++i) store.audit.add(event);
  const auto list = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"audit", "list", "--action", "user.create"});
    return cli_.run(more);
  };
  EXPECT_THAT(list({}).err, Not(HasSubstr("left out"))) << "these are all";
  store.audit.add(event);
  const std::string advice = "Older events are left out. All of them: giftsyncctl --config " +
                             cli_.path("giftsyncd.yaml") + " audit list --action user.create";
  EXPECT_THAT(list({}).err, HasSubstr(advice + " --limit 0"));
  EXPECT_THAT(list({"--since", "7d", "--json", "--limit", "7"}).err,
              HasSubstr(advice + " --since 7d --limit 0"));
  EXPECT_THAT(list({"--limit", "101"}).err, Not(HasSubstr("left out")));
  const auto all = list({"--limit", "0", "--json"});
  EXPECT_EQ(tests::parse_ordered_json(all.out).size(), 101u);
  EXPECT_THAT(all.err, Not(HasSubstr("left out")));
}

// CON-37
TEST_F(CliConsole, EventsAreFoundByTheirObject) {
  create("ana@example.com");
  store::Store store(cli_.address());
  const auto add = [&](const std::string& kind, const std::string& id) {
    store::AuditEvent event;
    event.action = kind + ".test";
    event.object_kind = kind;
    event.object_id = id;
    store.audit.add(event);
  };
  for (const std::string id : {"17", "18"}) add("gift", id);
  add("request", "R-000004");
  add("request", "R-000040");
  const auto found = [&](const std::string& object) {
    std::vector<std::string> ids;
    for (const Json& one : tests::parse_ordered_json(
             cli_.run({"audit", "list", "--object", object, "--limit", "0", "--json"}).out))
      ids.push_back(one["object_id"]);
    return ids;
  };
  for (const std::string typed : {"gift:17", "gift 17", " gift: 17 ", "#17", "17"})
    EXPECT_THAT(found(typed), ElementsAre("17")) << typed;
  for (const std::string typed : {"request:R-4", "request 4", "request r-000004", "request:R-000004"})
    EXPECT_THAT(found(typed), ElementsAre("R-000004")) << typed;
  EXPECT_THAT(found("gift"), ElementsAre("18", "17"));
  EXPECT_THAT(found("user:ana@example.com"), ElementsAre("ana@example.com"));
  for (const std::string none : {"gift:1", "1", "request:R-5"}) EXPECT_THAT(found(none), IsEmpty()) << none;
  EXPECT_THAT(cli_.run({"audit", "list", "--object", "gift 19"}).err, HasSubstr("No event."));
}

}  // namespace
}  // namespace giftsync::cli
