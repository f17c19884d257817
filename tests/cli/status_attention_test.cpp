// Which daemons status reports, what needs an admin, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <tuple>

#include "cli/status/status_report.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr UtcMillis kNow{1'795'264'267'000};
const Place kPlace{"here 1", "/etc/giftsyncd.yaml", "127.0.0.1:1"};

store::SeenDaemonInstance daemon(const std::string& id, const std::string& host, const std::string& listen,
                                 const std::string& file, std::int64_t unseen_millis = 0) {
  store::SeenDaemonInstance row;
  row.instance.id = id;
  row.instance.host = host;
  row.instance.listen = listen;
  row.instance.settings_file = file;
  row.last_seen_at = kNow;
  row.unseen_millis = unseen_millis;
  return row;
}

/// What answers, by address: an instance id; "" is a program that tells none. No entry: no answer.
ProbeDaemon answers(const std::map<std::string, std::string>& by_address) {
  return [by_address](const std::string& listen) {
    DaemonProbe probe;
    probe.address = listen;
    probe.state = DaemonState::unreachable;
    const auto found = by_address.find(listen);
    if (found == by_address.end()) return probe;
    probe.instance_id = found->second;
    probe.state = found->second.empty() ? DaemonState::another_program : DaemonState::ready;
    return probe;
  };
}

struct DaemonCase {
  std::string about;
  std::vector<store::SeenDaemonInstance> rows;
  std::map<std::string, std::string> answers;
  std::vector<std::pair<std::string, DaemonState>> expected;  ///< id ("-": no row) and state
  int exit_code;
};

// OPS-26, OPS-27
TEST(DaemonReports, KnowADaemonByItsInstanceId) {
  using enum DaemonState;
  const auto own = daemon("own", "here 1", "127.0.0.1:1", kPlace.settings_file);
  const auto moved = daemon("moved", "here 1", "127.0.0.1:2", kPlace.settings_file);
  const auto other_file = daemon("other", "here 1", "127.0.0.1:3", "/etc/other.yaml");
  const auto remote = daemon("remote", "there 2", "127.0.0.1:1", kPlace.settings_file, 60'000);
  const auto lost = daemon("lost", "there 2", "127.0.0.1:1", kPlace.settings_file, 60'001);
  const std::vector<DaemonCase> cases{
      {"runs", {own}, {{"127.0.0.1:1", "own"}}, {{"own", ready}}, 0},
      {"nothing", {}, {}, {{"-", unreachable}}, 69},
      {"killed", {own}, {}, {{"own", unreachable}}, 69},
      {"another program", {own}, {{"127.0.0.1:1", ""}}, {{"own", another_program}}, 69},
      {"another daemon", {own}, {{"127.0.0.1:1", "x"}}, {{"own", another_program}}, 69},
      {"a daemon of another store", {}, {{"127.0.0.1:1", "x"}}, {{"-", another_program}}, 69},
      {"the address in force", {moved}, {{"127.0.0.1:2", "moved"}}, {{"moved", ready}}, 0},
      {"killed and moved", {own, moved}, {{"127.0.0.1:2", "moved"}}, {{"moved", ready}}, 0},
      {"two here",
       {other_file, own},
       {{"127.0.0.1:1", "own"}, {"127.0.0.1:3", "other"}},
       {{"own", ready}, {"other", ready}},
       0},
      {"the other is down",
       {other_file, own},
       {{"127.0.0.1:1", "own"}},
       {{"own", ready}, {"other", unreachable}},
       1},
      {"remote only", {remote}, {}, {{"remote", seen}}, 0},
      {"remote lost", {lost}, {}, {{"-", unreachable}, {"lost", unseen}}, 69},
      {"own runs, remote lost", {lost, own}, {{"127.0.0.1:1", "own"}}, {{"own", ready}, {"lost", unseen}}, 1},
  };
  for (const DaemonCase& one : cases) {
    StatusReport report;
    report.daemons = daemon_reports(one.rows, kPlace, answers(one.answers));
    std::vector<std::pair<std::string, DaemonState>> found;
    for (const DaemonReport& daemon : report.daemons)
      found.emplace_back(daemon.row ? daemon.row->instance.id : "-", daemon.probe.state);
    EXPECT_EQ(found, one.expected) << one.about;
    EXPECT_EQ(exit_code(report, needs_attention(report)), one.exit_code) << one.about;
  }
}

// OPS-27
TEST(StatusAttention, NamesWhatAnAdminHasToDo) {
  struct Case {
    std::function<void(StatusReport&)> change;
    std::string what;  ///< empty: nothing
  };
  const auto source = [](const std::string& state) {
    return [state](StatusReport& report) {
      report.facts.sources.emplace_back();
      report.facts.sources.back().name = "vendor";
      report.facts.sources.back().state = state;
    };
  };
  const auto refused = [](std::int64_t in_row) {
    return [in_row](StatusReport& report) {
      store::SourceSummary& row = report.facts.sources.emplace_back();
      row.name = "vendor";
      row.state = "ok";
      row.refused_in_row = in_row;
      row.last_refusal = "no valid JSON";
    };
  };
  const auto quarantined = [](std::int64_t events) {
    return [events](StatusReport& report) {
      store::SourceSummary& row = report.facts.sources.emplace_back();
      row.name = "vendor";
      row.state = "ok";
      row.quarantined = events;
    };
  };
  const auto set_org = [](StatusReport& report, const wiring::OrgStatus& org) {
    for (const wiring::OrgPause& pause : wiring::org_pauses(org, "giftsyncctl "))
      if (!pause.next_step.empty()) report.facts.crm_pauses.push_back({pause.summary, pause.next_step});
  };
  const auto certificate = [](CertificateState state) {
    return sync::BadCertificate{"/etc/tls.pem", {kNow, kNow + kDayMillis}, state};
  };
  const std::vector<Case> cases{
      {[](StatusReport&) {}, ""},
      {[](StatusReport& report) {
         report.facts.mail_pauses = {{kNow, kNow, 3, "no relay", "", "mars 127.0.0.1:8480"}};
       },
       "mail delivery is paused on mars 127.0.0.1:8480: no relay"},
      {[](StatusReport& report) {
         report.facts.admin_pause = store::MailPause{kNow, "root", "wrong item"};
         report.facts.waiting_mails = 3;
       },
       "mail is paused since 2026-11-21 12:31 UTC by root: wrong item"},
      {[](StatusReport& report) {
         report.facts.paused_credentials = {{.owner = "rose@example.com",
                                             .prefix = "gsk_live_x3Kd9aQ",
                                             .paused_at = kNow,
                                             .pause_reason = "runaway flow"}};
       },
       "the API key gsk_live_x3Kd9aQ of rose@example.com is paused since 2026-11-21 12:31 UTC: runaway flow"},
      {[](StatusReport& report) {
         report.facts.used_up_budgets = {{"organization",
                                          "Edge Corp",
                                          {"2026-11",
                                           "organization:3",
                                           store::BudgetKind::organization,
                                           {.gifts = 20'000, .amount = Money{50'000}}},
                                          {20'000, Money{48'760}}}};
       },
       "the budget of organization Edge Corp for 2026-11 is used up: 20000 of 20000 gifts, 487.60 of 500.00"},
      {[](StatusReport& report) { report.facts.more_used_up_budgets = 1; }, "1 more budget is used up"},
      {[](StatusReport& report) { report.facts.has_sending_limit = false; }, ""},
      {[](StatusReport& report) { report.facts.full_disk = "the disk of /var is full: 12 KB are free"; },
       "the disk of /var is full: 12 KB are free"},
      {[](StatusReport& report) {
         report.facts.upgrade = {.remaining = 2, .present = "CREATE INDEX a ON b"};
       },
       ""},
      {[](StatusReport& report) {
         report.facts.upgrade = {
             .remaining = 2, .present = "CREATE INDEX a ON b", .fault = "the disk is full"};
       },
       "an upgrade of the store cannot go on: CREATE INDEX a ON b: the disk is full"},
      {[](StatusReport& report) {
         report.daemons[0].probe.clock_doubt = "the clock jumped ahead by 1 days 0 h 0 min";
       },
       "the clock jumped ahead by 1 days 0 h 0 min"},
      {[certificate](StatusReport& report) {
         report.facts.certificate = certificate(CertificateState::ending);
       },
       "the certificate in /etc/tls.pem expires at 2026-11-22 12:31 UTC"},
      {[certificate](StatusReport& report) {
         report.facts.certificate = certificate(CertificateState::expired);
       },
       "the certificate in /etc/tls.pem has expired, so clients refuse giftsyncd, since 2026-11-22 12:31 "
       "UTC"},
      {[certificate](StatusReport& report) {
         report.facts.certificate = certificate(CertificateState::not_yet_valid);
       },
       "the certificate in /etc/tls.pem is not valid before 2026-11-21 12:31 UTC: clients refuse giftsyncd, "
       "unless it goes on with the former one"},
      {[](StatusReport& report) { report.facts.gifts_in_future = 455; },
       "455 gifts have a time in the future, from a wrong clock or time zone"},
      {[](StatusReport& report) {
         report.facts.shared_replies = {{DeliveryState::undelivered, "550 5.1.1 <a@x>: unknown", 12, kNow}};
       },
       "12 mails within an hour ended undelivered with the same reply: 550 5.1.1 <a@x>: unknown"},
      {[](StatusReport& report) {
         report.facts.shared_replies = {{DeliveryState::queued, "450 4.7.1 later", 3, kNow}};
       },
       "3 mails wait, the first since 2026-11-21 12:31 UTC: the relay defers each with: 450 4.7.1 later"},
      {[](StatusReport& report) { report.facts.held_mails = 2; }, "2 mails are held"},
      {[](StatusReport& report) {
         report.mails = {{DeliveryState::uncertain, 2}};
       },
       ""},
      {[](StatusReport& report) { report.facts.rejected_records = 1; }, "the CRM rejected 1 gift record"},
      {[](StatusReport& report) {
         report.sync_states = {{store::CrmSyncStatus::skipped, 1}};
       },
       ""},
      {[set_org](StatusReport& report) {
         set_org(report, wiring::OrgStatus{.organization_id = "00D1", .other_organization_id = "00D2"});
       },
       "the CRM is paused: crm.salesforce.domain leads to the org 00D2, and the records in the store are of "
       "the "
       "org 00D1"},
      {[set_org](StatusReport& report) {
         set_org(report, wiring::OrgStatus{.organization_id = "00D1", .own_calls = 7, .paused_until = kNow});
       },
       ""},
      {[set_org](StatusReport& report) {
         set_org(report, wiring::OrgStatus{.organization_id = "00D1",
                                           .refused_sign_in = salesforce::StoredRefusal{
                                               {"invalid_grant: expired", "renew it"}, kNow}});
       },
       "Salesforce refuses the sign-in, so the CRM is paused: invalid_grant: expired"},
      {[set_org](StatusReport& report) {
         set_org(report, wiring::OrgStatus{.organization_id = "00D1", .messages = {3, kNow}});
       },
       ""},
      {[set_org](StatusReport& report) {
         set_org(report, wiring::OrgStatus{.organization_id = "00D1",
                                           .paused_until = kNow,
                                           .pause_reason = "used up",
                                           .pause_next_step = "buy calls"});
       },
       "the CRM is paused: no call before 2026-11-21T12:31:07.000Z: used up"},
      {[set_org](StatusReport& report) {
         set_org(report, wiring::OrgStatus{.organization_id = "00D1", .write_problem = "no rule"});
       },
       "the CRM is paused: no rule"},
      {[](StatusReport& report) {
         report.facts.backfills.emplace_back().differing = 7;
         report.facts.backfills.emplace_back().ended_at = kNow;
       },
       ""},
      {[](StatusReport& report) {
         store::BackfillRun& run = report.facts.backfills.emplace_back();
         run.name = "gift-records";
         run.started_at = kNow;
         run.ended_at = kNow;
         run.error = "the CRM is down";
       },
       "the backfill gift-records of 2026-11-21 12:31 UTC did not come to its end: the CRM is down"},
      {[](StatusReport& report) { report.facts.requests_in_error = 1; }, "1 request record is in error"},
      {[](StatusReport& report) {
         report.facts.sync.failing = 1;
         report.facts.sync.rejected = 1;
         report.facts.rejected_records = 1;
       },
       "the CRM rejected 1 gift record"},
      {[](StatusReport& report) {
         report.facts.sync.failing = 2;
         report.facts.sync.last_error = "task: refused";
       },
       "2 gifts cannot be written to the CRM; most often: task: refused"},
      {[](StatusReport& report) { report.facts.sync.waiting = 2; }, ""},
      // HOOK-13
      {[](StatusReport& report) {
         report.facts.is_feed_on = false;
         report.facts.webhooks.resize(1);
         report.facts.webhooks.back().state = WebhookState::disabled;
         report.facts.webhooks.back().name = "crm";
         report.facts.webhooks.back().state_since = kNow;
       },
       "webhook crm is disabled since 2026-11-21 12:31 UTC"},
      {[](StatusReport& report) {
         report.facts.is_feed_on = false;
         report.facts.webhooks.resize(2);
       },
       "no new events come for 2 webhooks, since feed.enabled is false"},
      {[](StatusReport& report) { report.facts.is_feed_on = false; }, ""},
      {[](StatusReport& report) { report.facts.webhooks.resize(2); }, ""},
      {source("failing"), "source vendor is failing"},
      {source("invalid"), "source vendor is invalid"},
      {source("over_limit"), "source vendor is over_limit"},
      {source("ok"), ""},
      {source("removed"), ""},
      {refused(10), "source vendor: 10 messages in a row were refused: no valid JSON"},
      {refused(9), ""},
      {quarantined(2), "source vendor: 2 events in quarantine"},
      {[](StatusReport& report) {
         report.facts.codes = {{{7}, 0, 3}};
       },
       "item 7 has no gift codes left"},
      {[](StatusReport& report) {
         report.facts.codes = {{{7}, 1, 3}};
       },
       ""},
      {[](StatusReport& report) { report.items_without_redemption = 1; }, ""},
      {[](StatusReport& report) { report.keys_without_access = 1; }, ""},
      {[](StatusReport& report) {
         report.differences.push_back({"a", {}, {}});
       },
       ""},
      {[](StatusReport& report) { report.settings_faults = {"f:1: x"}; },
       "the settings file is faulty: f:1: x"},
      {[](StatusReport& report) { report.daemons[0].row->instance.reload_faults = "x"; },
       "the last reload of giftsyncd on here was refused"},
      {[](StatusReport& report) { report.daemons[0].probe.state = DaemonState::not_ready; },
       "giftsyncd at 127.0.0.1:1 is not ready: "},
  };
  for (const Case& one : cases) {
    StatusReport report;
    report.daemons = daemon_reports({daemon("own", "here 1", "127.0.0.1:1", kPlace.settings_file)}, kPlace,
                                    answers({{"127.0.0.1:1", "own"}}));
    one.change(report);
    const auto found = needs_attention(report);
    if (one.what.empty()) {
      EXPECT_THAT(found, IsEmpty());
      EXPECT_EQ(exit_code(report, found), 0);
      continue;
    }
    ASSERT_EQ(found.size(), 1U) << one.what;
    EXPECT_EQ(found[0].what, one.what);
    EXPECT_FALSE(found[0].next_step.empty()) << one.what;
    EXPECT_EQ(exit_code(report, found), 1) << one.what;
  }
}

// OPS-27
TEST(CliStatus, EndsWith69AndSaysSoWithoutADaemon) {
  const CliFixture cli;
  cli.write("giftsyncd.yaml",
            "server: { listen: \"127.0.0.1:1\", base_url: \"http://127.0.0.1:1\", admin_url: "
            "\"http://127.0.0.1:1\" }\n"
            "store: { connection: store.db }\n"
            "email: { directory: outbox, from: gifts@example.com }\n");
  const auto text = cli.run({"status"});
  EXPECT_EQ(text.code, 69);
  EXPECT_THAT(text.out, HasSubstr("\nattention giftsyncd does not answer: "));
  const auto json = tests::parse_json(cli.run({"status", "--json"}).out);
  EXPECT_EQ(json["needs_attention"].size(), 1U);
  EXPECT_EQ(json["daemon"]["state"], "unreachable");
}

// OPS-27
TEST(DaemonUnit, IsReadAsSystemdShowsIt) {
  EXPECT_FALSE(parse_unit(""));
  EXPECT_FALSE(parse_unit("LoadState=not-found\nActiveState=inactive\nSubState=dead\n"));
  const auto runs = parse_unit(
      "Result=success\nExecMainStatus=0\nStatusText=Listening on 127.0.0.1:8480 with /etc/giftsync/a b.yaml\n"
      "LoadState=loaded\nActiveState=active\nSubState=running\nStateChangeTimestamp=@1795264267\n");
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->state, "active (running)");
  EXPECT_EQ(runs->since, kNow);
  EXPECT_EQ(runs->listen, "127.0.0.1:8480");
  EXPECT_EQ(runs->settings_file, "/etc/giftsync/a b.yaml");
  EXPECT_FALSE(runs->exit_code);
  const auto failed = parse_unit(
      "Result=exit-code\nExecMainStatus=78\nStatusText=\nLoadState=loaded\nActiveState=failed\n"
      "SubState=failed\nStateChangeTimestamp=\n");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->state, "failed (failed)");
  EXPECT_EQ(failed->exit_code, 78);
  EXPECT_FALSE(failed->since);
  EXPECT_EQ(failed->listen, "");
}

config::SettingsReading reading(bool has_store) {
  config::SettingsReading file;
  file.settings.file = "/etc/giftsync/giftsyncd.yaml";
  file.settings.server.listen = "127.0.0.1:1";
  file.has_store = has_store;
  if (!has_store) file.faults = {"/etc/giftsync/giftsyncd.yaml:3: store: found 1"};
  return file;
}

// OPS-27
TEST(RefusedStatus, AsksTheDaemonWhereItsUnitSaysThatItListens) {
  const auto asked = [](const std::optional<UnitState>& unit) {
    return probe_without_store(reading(false), unit, answers({})).address;
  };
  EXPECT_EQ(asked(std::nullopt), "127.0.0.1:1");
  UnitState unit{.state = "active (running)",
                 .since = kNow,
                 .listen = "127.0.0.1:2",
                 .settings_file = "/etc/giftsync/giftsyncd.yaml"};
  EXPECT_EQ(asked(unit), "127.0.0.1:2");
  unit.settings_file = "/etc/other.yaml";
  EXPECT_EQ(asked(unit), "127.0.0.1:1");
}

// OPS-27
TEST(RefusedStatus, SaysWhyAndTheNextStep) {
  const auto settings = refused_item(reading(false), reading(false).faults);
  EXPECT_EQ(settings.condition, "daemon.settings_faulty");
  EXPECT_EQ(settings.what, "the settings file is faulty: /etc/giftsync/giftsyncd.yaml:3: store: found 1");
  EXPECT_THAT(settings.next_step, HasSubstr("giftsyncd --config /etc/giftsync/giftsyncd.yaml --check"));
  const auto store = refused_item(reading(true), {"/a.db: the store cannot be opened: no; use sudo", "more"});
  EXPECT_EQ(store.condition, "store.unreadable");
  EXPECT_EQ(store.what, "/a.db: the store cannot be opened: no");
  EXPECT_EQ(store.next_step, "use sudo");
  EXPECT_THAT(refused_item(reading(true), {"/a.db: broken"}).next_step, HasSubstr("--check"));
}

// OPS-27
TEST(RefusedStatus, ShowsTheDaemonAlthoughStoreOrSettingsCannotBeUsed) {
  for (const auto& [settings, code, what] :
       {std::tuple{"store: { connection: elsewhere.db }\n", 66, "there is no store"},
        std::tuple{"store: { backend: none }\n", 78, "the settings file is faulty: "},
        std::tuple{"store: [\n", 78, "the settings file is faulty: "}}) {
    SCOPED_TRACE(settings);
    const CliFixture cli;
    cli.write("giftsyncd.yaml",
              std::string("server: { listen: \"127.0.0.1:1\", base_url: \"http://127.0.0.1:1\","
                          " admin_url: \"http://127.0.0.1:1\" }\n"
                          "email: { directory: outbox, from: gifts@example.com }\n") +
                  settings);
    const auto text = cli.run({"status"});
    EXPECT_EQ(text.code, code);
    EXPECT_THAT(text.out, HasSubstr("daemon    "));
    EXPECT_THAT(text.out, HasSubstr("\nattention "));
    EXPECT_THAT(text.out, HasSubstr(what));
    EXPECT_THAT(text.err, HasSubstr("giftsyncctl: ")) << "as every command";
    const auto shown = cli.run({"status", "--json"});
    EXPECT_EQ(shown.code, code);
    const auto json = tests::parse_json(shown.out);
    EXPECT_EQ(json["needs_attention"].size(), 1U);
    EXPECT_FALSE(json["refusal"].empty());
    EXPECT_TRUE(json["daemon"].contains("state"));
    EXPECT_EQ(json["settings"]["file"], cli.path("giftsyncd.yaml"));
  }
}

// SET-8
TEST(CliSettings, ShowsTheFileWithoutADaemonAndSaysSo) {
  const CliFixture cli;
  const auto shown = cli.run({"settings", "show"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.err,
            "No giftsyncd runs with " + cli.path("giftsyncd.yaml") + ": this is what the file says.\n");
  const auto file = cli.run({"settings", "show", "--file"});
  EXPECT_EQ(file.err, "");
  EXPECT_EQ(file.out, shown.out);
  EXPECT_TRUE(tests::parse_json(cli.run({"settings", "show", "--json"}).out)["daemon"].is_null());
}

// SET-8, OPS-27
TEST(CliStatus, IsShownDespiteAFaultyFileThatNamesTheStore) {
  const CliFixture cli;
  cli.write_settings("limits: { max_recipients: none }\ncrmm: { type: sql }\n");
  const auto text = cli.run({"status"});
  EXPECT_EQ(text.code, 69);
  EXPECT_THAT(text.out, HasSubstr("\nattention the settings file is faulty: "));
  EXPECT_THAT(tests::parse_json(cli.run({"status", "--json"}).out)["settings"]["faults"],
              ElementsAre(HasSubstr("max_recipients"), HasSubstr("crmm")));
  EXPECT_EQ(cli.run({"settings", "show"}).code, 78);
  EXPECT_EQ(cli.run({"settings", "show"}).out, "") << "nothing runs, and the file is faulty";
  cli.write("giftsyncd.yaml", "store: { connection: 7, backend: none }\n");
  EXPECT_EQ(cli.run({"status"}).code, 78);
}

}  // namespace
}  // namespace giftsync::cli
