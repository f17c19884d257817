// The audit events of commands: every verb that changes something has one.
#include "cli/command_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/console.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using store::AuditEvent;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

void add_verbs(const Command& app, std::vector<std::string>& verbs) {
  if (app.below.empty()) verbs.push_back(name_of_verb(app));
  for (const auto& one : app.below) add_verbs(*one, verbs);
}

std::vector<std::string> verbs_of_tree() {
  Commands commands;
  add_all_commands(commands);
  std::vector<std::string> verbs;
  add_verbs(commands.root(), verbs);
  return verbs;
}

// CON-8
TEST(CommandEffects, EveryVerbOfTheTreeIsClassified) {
  std::vector<std::string> classified;
  for (const CommandEffect& one : command_effects()) classified.emplace_back(one.verb);
  EXPECT_THAT(verbs_of_tree(), testing::UnorderedElementsAreArray(classified));
}

// CON-8
TEST(CommandEffects, TheOptionsThatEventsNameExist) {
  Commands commands;
  add_all_commands(commands);
  for (const CommandEffect& one : command_effects()) {
    const Command* app = &commands.root();
    std::istringstream words{std::string(one.verb)};
    for (std::string word; words >> word;) app = app->find_below(word);
    std::istringstream options{std::string(one.id) + " " + std::string(one.detail)};
    for (std::string option; options >> option;)
      EXPECT_NE(app->find(option), nullptr) << one.verb << " " << option;
  }
}

class CliAudit : public testing::Test {
 protected:
  std::vector<AuditEvent> events(const std::string& object = "") const {
    store::Store store(cli_.address());
    store::AuditFilter filter;
    set_object(filter, object);
    return store.audit.list(store::Viewer::of_command_line(), filter, 1000);
  }
  /// The events that these commands add, the oldest first, as "action object: detail".
  std::vector<std::string> after(const std::vector<std::string>& args, const std::string& in = "") {
    const std::size_t before = events().size();
    result_ = cli_.run(args, in);
    auto all = events();
    all.resize(all.size() - before);
    std::reverse(all.begin(), all.end());
    std::vector<std::string> texts;
    for (const AuditEvent& one : all) {
      EXPECT_EQ(one.actor, os_user());
      EXPECT_EQ(one.actor_kind, store::ActorKind::command);
      EXPECT_EQ(one.occurred_at, cli_.now);
      texts.push_back(one.action + " " + one.object_kind +
                      (one.object_id.empty() ? "" : " " + one.object_id) +
                      (one.detail.empty() ? "" : ": " + one.detail));
    }
    return texts;
  }
  CliFixture cli_;
  CliFixture::Result result_;
};

struct Sample {
  std::string verb;
  std::vector<std::string> args;
  std::vector<std::string> events;  ///< "*" stands for any text
  std::string in = {};
};

/// The text with each "*" of the pattern in place of what it stands for.
MATCHER_P(IsLike, pattern, "") {
  std::size_t at = 0;
  std::string_view rest = pattern;
  while (true) {
    const std::size_t star = rest.find('*');
    const std::string_view part = rest.substr(0, star);
    const std::size_t found = arg.find(part, at);
    if (found == std::string::npos ||
        (at == 0 && rest.data() == std::string_view(pattern).data() && found != 0))
      return false;
    at = found + part.size();
    if (star == std::string_view::npos) return at == arg.size() || part.empty();
    rest.remove_prefix(star + 1);
  }
}

// CON-8
TEST_F(CliAudit, EveryVerbThatChangesSomethingAddsItsEvents) {
  cli_.write_settings(
      "requests: { enabled: true }\n"
      "sources:\n"
      "  - { name: feed, type: poll, url: \"https://api.example.com\",\n"
      "      fields: { transaction_id: /id, status: /s, occurred_at: /at } }\n");
  const std::string first =
      std::to_string(cli_.send_gifts({"ada@example.com", "bo@example.com"}).front().value);
  const std::string second = std::to_string(std::stoll(first) + 1);
  {
    store::NewGiftRequest test;
    test.request.account = {1};
    test.request.gift = {7};
    test.request.is_test = true;
    test.recipients.push_back({"kim@example.com", "", "", "Hi"});
    store::Store(cli_.address()).gifts.create(std::span(&test, 1));
  }
  {
    store::Store store(cli_.address());
    store.sources.open("feed", "", cli_.now);
    ASSERT_TRUE(store.sources.claim("feed", "daemon", 120'000, cli_.now));
    store.sources.release_claim("feed", "daemon", {cli_.now + 3'600'000, 7, "{\"cursor\":\"5\"}"});
  }
  const std::string change = "{\"recipient_transaction_id\":" + first +
                             ",\"status\":\"delivered\",\"occurred_at\":\"2026-11-21T12:30:00Z\"}\n";
  const std::string orphan =
      "{\"recipient_transaction_id\":99000000,\"status\":\"opened\",\"occurred_at\":\"2026-11-21T12:30:00Z\"}"
      "\n";
  const std::vector<Sample> samples{
      {"organization create", {"--name", "Edge"}, {"organization.create organization Edge"}},
      {"organization rotate",
       {"Edge", "--grace", "1h"},
       {"organization.rotate organization Edge: --grace 1h",
        "organization.rotate organization Edge: token got_live_* is replaced by got_live_*"}},
      {"organization revoke", {"got_live_", "--yes"}, {}},
      {"account create",
       {"--email", "rose@example.com", "--name", "Rose", "--plan", "individual"},
       {"account.create account rose@example.com: --plan individual"}},
      {"account create",
       {"--email", "kim@example.com", "--name", "Kim", "--plan", "team", "--with-key"},
       {"account.create account kim@example.com: --plan team --with-key",
        "account.create account kim@example.com: key gsk_live_*"}},
      {"account set-plan",
       {"rose@example.com", "--plan", "team"},
       {"account.set-plan account rose@example.com: --plan team"}},
      {"account deactivate", {"rose@example.com"}, {"account.deactivate account rose@example.com"}},
      {"account activate", {"rose@example.com"}, {"account.activate account rose@example.com"}},
      {"account set-organization",
       {"rose@example.com", "--organization", "Edge"},
       {"account.set-organization account rose@example.com: --organization Edge"}},
      {"key create",
       {"--account", "rose@example.com", "--name", "website"},
       {"key.create key gsk_live_*: --account rose@example.com --name website"}},
      {"key rotate",
       {"website", "--grace", "1h"},
       {"key.rotate key gsk_live_*: --grace 1h", "key.rotate key gsk_live_*: replaced by gsk_live_*"}},
      {"key pause",
       {"website", "--reason", "runaway flow"},
       {"key.pause key gsk_live_*: --reason runaway flow",
        "key.pause key gsk_live_*: --reason runaway flow"}},
      {"key pause", {"website"}, {}},
      {"key release", {"website"}, {"key.release key gsk_live_*", "key.release key gsk_live_*"}},
      {"mail pause", {"--reason", "wrong item"}, {"mail.pause mail: --reason wrong item"}},
      {"mail pause", {}, {}},
      {"mail resume", {}, {"mail.resume mail"}},
      {"mail resume", {}, {}},
      {"key revoke",
       {"website", "--yes"},
       {"key.revoke key gsk_live_*: of rose@example.com", "key.revoke key gsk_live_*: of rose@example.com"}},
      {"item import",
       {"-"},
       {"item.import item: 1 item of stdin"},
       "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
       "7,Coffee,,5.00,0.00,0.25,0.50\n"},
      {"item codes import", {"7", "-"}, {"item.codes.import item 7: 2 codes of stdin"}, "code\nA1\nA2\n"},
      {"crm import",
       {"--object", "contact", "-"},
       {"crm.import crm contact: -", "crm.import crm contact: 1 inserted, 0 updated, 0 unchanged, 0 refused"},
       "Id,Email\n003A,ada@example.com\n"},
      {"crm messages create", {}, {"crm.messages.create crm-message-url gmt_live_*"}},
      {"crm messages rotate",
       {"--grace", "1h"},
       {"crm.messages.rotate crm-message-url gmt_live_*: --grace 1h"}},
      {"crm messages delete", {"gmt_live_", "--yes"}, {}},
      {"gift resend",
       {first, "--email", "ada@other.example"},
       {"gift.resend gift " + first + ": --email ada@other.example"}},
      {"gift cancel", {second, "--yes"}, {"gift.cancel gift " + second}},
      {"gift cancel", {second, "--yes"}, {}},
      {"gift purge-test", {}, {"gift.purge-test gift test"}},
      {"do-not-send add",
       {"kim@example.com", "rival.example"},
       {"do-not-send.add do-not-send ***@example.com: blocked",
        "do-not-send.add do-not-send rival.example: blocked"}},
      {"do-not-send add", {"kim@example.com"}, {}},
      {"do-not-send remove",
       {"kim@example.com"},
       {"do-not-send.remove do-not-send ***@example.com: blocked"}},
      {"do-not-send import",
       {"-"},
       {"do-not-send.import do-not-send: 1 entry of stdin: 1 opted_out"},
       "pattern,reason\nkai@example.com,opted_out\n"},
      {"change import",
       {"-"},
       {"change.import change: -",
        "change.import change: 2 lines: 1 accepted, 0 duplicates, 1 orphaned, 0 refused"},
       change + orphan},
      {"change purge",
       {"--orphaned", "--source", "import", "--yes"},
       {"change.purge source import: --orphaned", "change.purge source import: 1 orphaned change purged"}},
      {"source reset-cursor", {"feed"}, {"source.reset-cursor source feed"}},
      {"request create",
       {"--gift-id", "7", "--recipient-email", "kim@example.com", "--message", "Secret words", "--sender",
        "005A"},
       {"request.create request R-000001"}},
      {"request approve",
       {"R-000001", "--comment", "as agreed"},
       {"request.approve request R-000001: --comment as agreed"}},
      {"request create",
       {"--gift-id", "7", "--recipient-email", "kim@example.com", "--message", "Hi", "--sender", "005A"},
       {"request.create request R-000002"}},
      {"request reject", {"R-000002", "--yes"}, {"request.reject request R-000002"}},
  };
  std::set<std::string> sampled;
  for (const Sample& one : samples) {
    std::vector<std::string> args;
    std::istringstream words(one.verb);
    for (std::string word; words >> word;) args.push_back(word);
    args.insert(args.end(), one.args.begin(), one.args.end());
    std::vector<testing::Matcher<std::string>> expected;
    for (const std::string& event : one.events) expected.push_back(IsLike(event));
    EXPECT_THAT(after(args, one.in), testing::ElementsAreArray(expected)) << one.verb << "\n"
                                                                          << result_.out << result_.err;
    if (!one.events.empty()) sampled.insert(one.verb);
  }
  const std::string id =
      std::to_string(tests::parse_json(cli_.run({"change", "list", "--json", "--gift", first}).out)
                         .at(0)
                         .at("id")
                         .get<std::int64_t>());
  EXPECT_THAT(after({"change", "void", id, "--reason", "wrong"}),
              ElementsAre("change.void change " + id + ": --reason wrong"));
  EXPECT_THAT(after({"change", "restore", id}), ElementsAre("change.restore change " + id));
  // Asserted where the tests have what they need: below, in the tests of these verbs, and by hand in an org.
  sampled.insert({"change void", "change restore", "organization revoke", "organization pause-token",
                  "organization release-token", "crm messages delete", "gift extend", "gift link", "rematch",
                  "source purge", "source set-cursor", "request retry", "backfill gift-records",
                  "backfill status-timestamps", "crm accept-org", "secret rotate"});
  for (const CommandEffect& one : command_effects()) {
    if (one.effect != Effect::changing) continue;
    EXPECT_THAT(sampled, testing::Contains(std::string(one.verb)));
  }
}

// CON-8
TEST_F(CliAudit, AnEventIsFoundByItsGiftAndSaysWhoseItIs) {
  cli_.run({"organization", "create", "--name", "Edge"});
  cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team",
            "--organization", "Edge"});
  const std::string gift = std::to_string(cli_.send_gifts({"ada@example.com"}).front().value);
  cli_.run({"gift", "cancel", gift, "--yes"});
  const auto found = events("gift " + gift);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found[0].organization.has_value());
  EXPECT_THAT(cli_.run({"audit", "list", "--object", "gift " + gift}).out, HasSubstr("gift.cancel"));
}

// CON-8
TEST_F(CliAudit, WhatChangesNothingHasNoEvent) {
  const std::string gift = std::to_string(cli_.send_gifts({"ada@example.com"}).front().value);
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"gift", "cancel", "99000000", "--yes"},
                                             {"gift", "cancel", gift},
                                             {"gift", "resend", gift, "--email", "no address"},
                                             {"key", "revoke", "nothing", "--yes"},
                                             {"account", "set-plan", "sam@example.com", "--plan", "team"},
                                             {"crm", "import", "--object", "contact", "--dry-run", "-"},
                                             {"db", "migrate"},
                                             {"db", "migrate", "--dry-run"},
                                             {"gift", "list"},
                                             {"gift", "purge-test"},
                                             {"status"}})
    EXPECT_THAT(after(args, "Id,Email\n003A,a@example.com\n"), IsEmpty()) << args[0] << " " << args[1];
}

// CON-8
TEST(CliAuditSecrets, NoEventHasAKeyOrAToken) {
  const CliFixture cli;
  cli.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
  const auto line_of = [&](const std::vector<std::string>& args) {
    const std::string out = cli.run(args).out;
    return out.substr(0, out.find('\n'));
  };
  const std::string key = line_of({"key", "create", "--account", "rose@example.com"});
  cli.run({"key", "revoke", key, "--yes"});
  const std::string token = line_of({"organization", "create", "--name", "Edge"});
  cli.run({"organization", "revoke", token, "--yes"});
  const std::string url = line_of({"crm", "messages", "create"});
  cli.run({"crm", "messages", "delete", url, "--yes"});
  const std::string listed = cli.run({"audit", "list", "--json"}).out;
  EXPECT_THAT(listed, AllOf(HasSubstr("key.create"), HasSubstr("organization.revoke"),
                            HasSubstr("crm.messages.delete")));
  for (const std::string& secret : {key, token, url.substr(url.rfind('/') + 1)})
    EXPECT_THAT(listed, AllOf(HasSubstr(secret.substr(0, 16)), Not(HasSubstr(secret.substr(0, 20)))));
}

// CON-8
TEST(CliAuditMigration, TheFirstMigrationHasAnEvent) {
  const CliFixture cli(false);
  ASSERT_EQ(cli.run({"db", "migrate"}).code, 0);
  EXPECT_THAT(cli.run({"audit", "list"}).out, HasSubstr("db.migrate"));
}

}  // namespace
}  // namespace giftsync::cli
