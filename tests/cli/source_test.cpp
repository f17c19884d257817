// source list, quarantine, purge, reset-cursor; sources in status and settings show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "platform/text.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliSource : public ::testing::Test {
 protected:
  CliSource() {
    cli_.write_settings(
        "sources:\n"
        "  - { name: vendor, secret: whsec_aHVzaGh1c2hodXNoaHVzaGh1c2g=,\n"
        "      fields: { transaction_id: /id, status: /s, occurred_at: /at }, status_map: { seen: opened } "
        "}\n"
        "  - { name: feed, type: poll, url: \"https://api.example.com\", headers: { Authorization: hush },\n"
        "      fields: { transaction_id: /id, status: /s, occurred_at: /at } }\n");
    const auto ids = cli_.send_gifts({"ada@example.com"});
    store::Store store(cli_.address());
    store.sources.open("vendor", "", cli_.now);
    store.sources.open("former", "", cli_.now);
    store::InboundBatch report;
    report.source = "vendor";
    report.now = cli_.now;
    report.ignored.resize(7);
    for (std::size_t i = 0; i < report.ignored.size(); ++i) {
      store::UnappliedEvent& ignored = report.ignored[i];
      ignored.state = store::EventState::ignored;
      ignored.status_word = "pi\x1bng";
      ignored.detail = "status \"ping\" is mapped to ignore";
      ignored.digest = "i" + std::to_string(i);
      ignored.payload = "{\"status\":\"ping\"}";
      ignored.received_at = cli_.now;
    }
    report.items.emplace_back().change =
        store::StatusChange{{}, "", ids[0], Status::opened, cli_.now, cli_.now, {}};
    report.items.emplace_back().change =
        store::StatusChange{{}, "", {4711}, Status::opened, cli_.now, cli_.now, {}};
    store::InboundItem& quarantined = report.items.emplace_back();
    quarantined.quarantined = true;
    quarantined.event = {0,
                         "vendor",
                         store::EventState::quarantined,
                         store::QuarantineReason::unknown_status,
                         "un\x1bwrapped",
                         "the status map has no such word",
                         "17",
                         "d",
                         "{\"status\":\"unwrapped\"}",
                         cli_.now};
    report.items[1].orphan_detail = "no recipient";
    report.items[1].event.digest = "h";
    report.items[1].event.payload = "{\"item\":\"as it came\"}";
    store.sources.accept(report);
    store::SourceHealthUpdate health{.source = "vendor"};
    health.state = store::SourceHealthUpdate::State{"invalid", "no JSON", cli_.now};
    store.sources.save_health(std::span(&health, 1));
  }
  Json json(std::vector<std::string> args) {
    args.push_back("--json");
    const auto result = cli_.run(args);
    EXPECT_EQ(result.code, args.front() == "status" ? 69 : 0) << result.err;  // no daemon runs
    return tests::parse_json(result.out);
  }
  CliFixture cli_;
};

// OPS-27
TEST_F(CliSource, QuarantinedEventsNeedAnAdminAndAreNamedWithTheirSource) {
  std::vector<std::string> found;
  const Json status = json({"status"});
  for (const Json& one : status["needs_attention"])
    found.push_back(one["condition"].get<std::string>() + ", " + one["what"].get<std::string>() + ", " +
                    one["next_step"].get<std::string>());
  EXPECT_THAT(found, testing::Contains(testing::AllOf(
                         HasSubstr("sources.quarantined, source vendor: 1 event in quarantine, giftsyncctl "),
                         HasSubstr("source quarantine vendor"))));
}

TEST_F(CliSource, ListShowsSourcesOfSettingsAndStore) {
  const Json rows = json({"source", "list"});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0]["name"], "former");
  EXPECT_EQ(rows[0]["type"], "removed");
  EXPECT_EQ(rows[1]["state"], "invalid");
  EXPECT_EQ(rows[1]["reason"], "no JSON");
  EXPECT_EQ(rows[1]["accepted"], 2);
  EXPECT_EQ(rows[1]["ignored"], 7);
  EXPECT_EQ(rows[1]["orphaned"], 1);
  EXPECT_EQ(rows[1]["quarantined"], 1);
  EXPECT_EQ(rows[2]["type"], "poll");
  EXPECT_EQ(rows[1]["webhook_url"], "http://127.0.0.1:8480/api/v1/webhooks/status_changes/vendor");
  EXPECT_TRUE(rows[0]["webhook_url"].is_null() && rows[2]["webhook_url"].is_null()) << "removed, poll";
  EXPECT_THAT(cli_.run({"source", "list"}).out,
              HasSubstr("its URL: http://127.0.0.1:8480/api/v1/webhooks/status_changes/vendor\n"));
  EXPECT_EQ(rows[2]["state"], "new");
  EXPECT_THAT(cli_.run({"source", "list"}).out, HasSubstr("no JSON"));
  EXPECT_THAT(cli_.run({"source", "list"}).out, HasSubstr("ORPHANED"));
}

TEST_F(CliSource, ListFitsATerminalOf80Columns) {
  const std::string longest(64, 'n');
  store::Store(cli_.address()).sources.open(longest, "", cli_.now);
  cli_.columns = 80;
  const std::string out = cli_.run({"source", "list"}).out;
  EXPECT_THAT(out, HasSubstr("IGNORED"));
  EXPECT_THAT(
      out, HasSubstr("    webhook, invalid since 2026-11-21 12:31 UTC, last received 2026-11-21 12:31 UTC: "
                     "no JSON; its URL: http://127.0.0.1:8480/api/v1/webhooks/status_changes/vendor\n"));
  EXPECT_THAT(out, HasSubstr("    poll\n")) << "no daemon has started it yet";
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("    ")) continue;
    EXPECT_LE(count_code_points(line), 80u) << line;
  }
}

TEST_F(CliSource, QuarantineListsEventsThatCouldNotBeApplied) {
  const Json rows = json({"source", "quarantine", "vendor"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["state"], "quarantined");
  EXPECT_EQ(rows[0]["reason"], "unknown_status");
  EXPECT_EQ(rows[0]["event"]["status"], "unwrapped");
  EXPECT_THAT(json({"source", "quarantine", "feed"}), IsEmpty());
  EXPECT_EQ(json({"source", "quarantine", "--by-status"})[0]["count"], 1);
  EXPECT_THAT(json({"source", "quarantine", "vendor", "--by-status"}), SizeIs(1));
  EXPECT_THAT(json({"source", "quarantine", "feed", "--by-status"}), IsEmpty());
  EXPECT_THAT(cli_.run({"source", "quarantine", "feed"}).err, HasSubstr("No quarantined events"));
  EXPECT_THAT(cli_.run({"source", "quarantine"}).out, HasSubstr("RECEIVED (UTC)"));
  EXPECT_THAT(CliFixture().run({"source", "list"}).err, HasSubstr("There are no sources"));
  EXPECT_THAT(cli_.run({"source", "quarantine"}).out, Not(HasSubstr("\x1b")))
      << "a vendor's text cannot control the terminal";
}

TEST_F(CliSource, QuarantineListsOrphanedEventsOnlyWithTheOption) {
  const Json rows = json({"source", "quarantine", "vendor", "--orphaned"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["state"], "orphaned");
  EXPECT_TRUE(rows[0]["reason"].is_null());
  EXPECT_EQ(rows[0]["recipient_transaction_id"], "4711");
  EXPECT_EQ(rows[0]["detail"], "no recipient");
  EXPECT_EQ(rows[0]["event"]["item"], "as it came");
  EXPECT_EQ(cli_.run({"source", "quarantine", "--orphaned", "--by-status"}).code, 64);
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "all", "--yes"}).out, "1 purged\n");
  EXPECT_THAT(json({"source", "quarantine", "--orphaned"}), SizeIs(1))
      << "the event is deleted with its change";
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "orphaned", "--yes"}).out, "1 purged\n");
  EXPECT_THAT(cli_.run({"source", "quarantine", "--orphaned"}).err,
              HasSubstr("No orphaned change has its event"));
}

// SRC-63
TEST_F(CliSource, QuarantineListsIgnoredEventsOnlyWithTheOption) {
  const Json rows = json({"source", "quarantine", "vendor", "--ignored"});
  ASSERT_THAT(rows, SizeIs(7));
  EXPECT_EQ(rows[0]["state"], "ignored");
  EXPECT_TRUE(rows[0]["reason"].is_null());
  EXPECT_EQ(rows[0]["detail"], "status \"ping\" is mapped to ignore");
  EXPECT_EQ(rows[0]["event"]["status"], "ping");
  EXPECT_EQ(rows[0]["received_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_THAT(json({"source", "quarantine"}), SizeIs(1)) << "without the option only quarantined ones";
  const std::string table = cli_.run({"source", "quarantine", "--ignored"}).out;
  EXPECT_THAT(table, HasSubstr("    status \"ping\" is mapped to ignore\n"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b"))) << "a vendor's text cannot control the terminal";
  EXPECT_THAT(cli_.run({"source", "quarantine", "feed", "--ignored"}).err, HasSubstr("No ignored events"));
  EXPECT_EQ(cli_.run({"source", "quarantine", "unknown", "--ignored"}).code, 65);
  EXPECT_EQ(cli_.run({"source", "quarantine", "--ignored", "--by-status"}).code, 64);
  EXPECT_EQ(cli_.run({"source", "quarantine", "--ignored", "--orphaned"}).code, 64);
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "all", "--yes"}).out, "1 purged\n");
  EXPECT_THAT(json({"source", "quarantine", "--ignored"}), SizeIs(7));
  EXPECT_EQ(cli_.run({"source", "purge", "feed", "--reason", "ignored", "--yes"}).out, "0 purged\n");
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "ignored", "--yes"}).out, "7 purged\n");
  EXPECT_THAT(json({"source", "quarantine", "--ignored"}), IsEmpty());
  EXPECT_EQ(json({"source", "list"})[1]["ignored"], 7) << "the count of all that were received stays";
}

TEST_F(CliSource, PurgeDeletesTheNamedReason) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"source", "purge", "unknown", "--reason", "orphaned", "--yes"},
        {"source", "quarantine", "unknown"},
        {"source", "quarantine", "unknown", "--by-status"},
        {"change", "list", "--source", "unknown"}}) {
    const auto refused = cli_.run(args);
    EXPECT_EQ(refused.code, 65) << args[0] << ' ' << args[1];
    EXPECT_THAT(refused.err, HasSubstr("there is no source \"unknown\"; known: feed, former, vendor"));
  }
  EXPECT_EQ(cli_.run({"source", "quarantine", "former"}).code, 0) << "the store still has it";
  EXPECT_EQ(cli_.run({"change", "list", "--source", "former"}).code, 0);
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "everything", "--yes"}).code, 64);
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "implausible_time", "--yes"}).out,
            "0 purged\n");
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "all", "--yes"}).out, "1 purged\n");
  EXPECT_EQ(cli_.run({"source", "purge", "vendor", "--reason", "orphaned", "--yes"}).out, "1 purged\n");
  EXPECT_THAT(cli_.run({"audit", "list", "--object", "source vendor"}).out,
              testing::AllOf(HasSubstr("source.purge"), HasSubstr("orphaned: 1 purged")))
      << "CON-8";
  EXPECT_EQ(json({"source", "list"})[1]["orphaned"], 0);
}

TEST_F(CliSource, ResetCursorClearsThePollCursor) {
  EXPECT_EQ(cli_.run({"source", "reset-cursor", "unknown"}).code, 65);
  EXPECT_EQ(cli_.run({"source", "reset-cursor", "former"}).code, 65);
  EXPECT_THAT(cli_.run({"source", "reset-cursor", "vendor"}).err, HasSubstr("is not a poll"));
  EXPECT_THAT(cli_.run({"source", "reset-cursor", "feed"}).err, HasSubstr("feed has not been polled yet"));
  {
    store::Store store(cli_.address());
    store.sources.open("feed", "", cli_.now);
    ASSERT_TRUE(store.sources.claim("feed", "daemon", 120'000, cli_.now));
    store.sources.release_claim("feed", "daemon", {cli_.now + 3'600'000, 7, "{\"cursor\":\"5\"}"});
  }
  EXPECT_EQ(json({"source", "list"})[0]["cursor_state"], "{\"cursor\":\"5\"}");
  EXPECT_EQ(cli_.run({"source", "reset-cursor", "feed"}).out,
            "feed is polled again from the beginning now\n");
  const Json feed = json({"source", "list"})[0];
  EXPECT_EQ(feed["name"], "feed");
  EXPECT_TRUE(feed["cursor_state"].is_null());
  EXPECT_EQ(feed["failures"], 0);
  store::Store store(cli_.address());
  EXPECT_TRUE(store.sources.claim("feed", "daemon", 120'000, cli_.now)) << "it is due";
}

// SRC-11
TEST_F(CliSource, SetCursorMakesAPollContinueAtAValue) {
  EXPECT_THAT(cli_.run({"source", "set-cursor", "vendor", "5"}).err, HasSubstr("is not a poll"));
  EXPECT_EQ(cli_.run({"source", "set-cursor", "feed", "5"}).code, 75) << "never polled";
  {
    store::Store store(cli_.address());
    store.sources.open("feed", "", cli_.now);
    ASSERT_TRUE(store.sources.claim("feed", "daemon", 120'000, cli_.now));
    EXPECT_THAT(cli_.run({"source", "set-cursor", "feed", "5"}).err, HasSubstr("is being polled now"));
    store.sources.release_claim("feed", "daemon", {cli_.now + 3'600'000, 7, "{\"cursor\":\"4\"}"});
  }
  const auto refused = cli_.run({"source", "set-cursor", "feed", "5"});
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err, HasSubstr("found \"5\"; allowed: nothing, because the source has one page"));
  EXPECT_EQ(json({"source", "list"})[0]["cursor_state"], "{\"cursor\":\"4\"}");
  const auto set = [&](const std::string& continuation, const std::string& value) {
    cli_.write_settings(
        "sources:\n"
        "  - { name: feed, type: poll, url: \"https://api.example.com/v1\", headers: { Authorization: hush "
        "},\n"
        "      fields: { transaction_id: /id, status: /s, occurred_at: /at }, " +
        continuation + " }\n");
    return cli_.run({"source", "set-cursor", "feed", value});
  };
  const auto state = [&] {
    return tests::parse_json(json({"source", "list"})[0]["cursor_state"].get<std::string>());
  };
  EXPECT_EQ(set("cursor: { pointer: /c, parameter: after }", "5").out, "feed continues at \"5\" now\n");
  EXPECT_EQ(state()["cursor"], "5");
  EXPECT_EQ(set("next: /next", "?page=3").code, 0);
  EXPECT_EQ(state()["next"], "https://api.example.com/v1?page=3");
  EXPECT_THAT(set("next: link", "https://evil.example/v1").err, HasSubstr("on the host of the source's url"));
  EXPECT_EQ(set("since: from, page_size: 10", "2026-11-21T12:00Z").code, 0);
  EXPECT_EQ(state()["since"], 1'795'262'400'000);
  EXPECT_THAT(set("since: from, page_size: 10", "today").err, HasSubstr("allowed: a time such as"));
  store::Store store(cli_.address());
  EXPECT_TRUE(store.sources.claim("feed", "daemon", 120'000, cli_.now)) << "it is due";
  const Json events = json({"audit", "list", "--action", "source.set-cursor"});
  EXPECT_FALSE(events.empty());
  for (const Json& event : events) EXPECT_EQ(event["object_id"], "feed");
  EXPECT_THAT(events.dump(), Not(HasSubstr("api.example.com"))) << "VALUE may have a secret";
}

/// With a verified sender, in this order.
void refuse_messages(store::Store& store, const std::vector<std::string>& bodies, UtcMillis now) {
  store::SourceHealthUpdate update{.source = "vendor"};
  update.refused = update.refused_in_row = static_cast<std::int64_t>(bodies.size());
  for (const std::string& body : bodies)
    update.messages.push_back({.source = "vendor",
                               .message_id = "msg_" + std::to_string(body.size()),
                               .status = 400,
                               .reason = "status: found nothing",
                               .size = static_cast<std::int64_t>(body.size()),
                               .body = body,
                               .received_at = now});
  update.last_refusal = store::SourceHealthUpdate::Refusal{"status: found nothing", now};
  store.sources.save_health(std::span(&update, 1));
}

// SRC-29
TEST_F(CliSource, ListAndStatusShowTheLastRefusalAndHowManyInARow) {
  store::Store store(cli_.address());
  refuse_messages(store, {"a", "bb", "ccc"}, cli_.now);
  const Json row = json({"source", "list"})[1];
  EXPECT_EQ(row["refused"], 3);
  EXPECT_EQ(row["refused_in_row"], 3);
  EXPECT_EQ(row["last_refusal"], "status: found nothing");
  EXPECT_EQ(row["last_refused_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_TRUE(json({"source", "list"})[0]["last_refused_at"].is_null());
  const std::string text = "last refused 2026-11-21 12:31 UTC, 3 in a row: status: found nothing";
  EXPECT_THAT(cli_.run({"source", "list"}).out, HasSubstr("no JSON; " + text + "; its URL: "));
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("          " + text + "\n"));
  EXPECT_EQ(json({"status"})["sources"][1]["refused_in_row"], 3);
}

// SRC-61
TEST_F(CliSource, RefusedListsAndShowsRefusedMessages) {
  EXPECT_THAT(cli_.run({"source", "refused", "vendor"}).err,
              HasSubstr("No refused message of \"vendor\" is kept."));
  EXPECT_EQ(cli_.run({"source", "refused", "unknown"}).code, 65);
  store::Store store(cli_.address());
  const std::string bytes("\x00\xff\x1b{\n", 5);
  refuse_messages(store, {bytes, std::string(70'000, 'x')}, cli_.now);
  const Json rows = json({"source", "refused", "vendor"});
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0]["size"], 70'000) << "the newest first";
  EXPECT_EQ(rows[0]["kept_bytes"], 65'536);
  EXPECT_EQ(rows[1]["message_id"], "msg_5");
  EXPECT_EQ(rows[1]["reason"], "status: found nothing");
  EXPECT_EQ(rows[1]["http_status"], 400);
  EXPECT_EQ(rows[1]["received_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_THAT(json({"source", "refused", "vendor", "--limit", "1"}), SizeIs(1));
  const std::string table = cli_.run({"source", "refused", "vendor"}).out;
  EXPECT_THAT(table, HasSubstr("70000 (cut)"));
  EXPECT_THAT(table, HasSubstr("    status: found nothing\n"));
  const auto id = [&](std::size_t at) { return std::to_string(rows[at]["id"].get<std::int64_t>()); };
  const auto whole = cli_.run({"source", "refused", "vendor", "--show", id(1)});
  EXPECT_EQ(whole.out, bytes) << "byte for byte";
  EXPECT_EQ(whole.err, "");
  const auto cut = cli_.run({"source", "refused", "vendor", "--show", id(0)});
  EXPECT_EQ(cut.out.size(), 65'536u);
  EXPECT_THAT(cut.err, HasSubstr("The body is cut: 65536 of its 70000 bytes are kept."));
  EXPECT_EQ(cli_.run({"source", "refused", "feed", "--show", id(1)}).code, 65) << "of another source";
  EXPECT_EQ(cli_.run({"source", "refused", "vendor", "--show", id(1), "--json"}).code, 64);
}

// SRC-62
TEST_F(CliSource, TryShowsWhatASampleWouldDo) {
  const std::string sample =
      R"([{"id":1,"s":"seen","at":"2026-11-20T10:00:00Z"},{"id":999,"s":"seen","at":1795264267},)"
      R"({"id":1,"s":"torn","at":1795264267}])";
  const auto text = cli_.run({"source", "try", "vendor"}, sample);
  EXPECT_EQ(text.code, 1);
  EXPECT_EQ(
      text.out,
      "event 1: accepted\n"
      "  transaction_id  1\n"
      "  status          seen -> opened\n"
      "  occurred_at     2026-11-20T10:00:00Z -> 2026-11-20T10:00:00.000Z\n"
      "  gift 1 exists\n"
      "event 2: orphaned\n"
      "  transaction_id  999\n"
      "  status          seen -> opened\n"
      "  occurred_at     1795264267 -> 2026-11-21T12:31:07.000Z\n"
      "  gift 999 is unknown\n"
      "  opened of gift 999 at 2026-11-21T12:31:07.000Z: there is no such gift of giftsync's own; if the "
      "source's gifts are sent elsewhere, set transactions: external\n"
      "event 3: quarantined (unknown_status)\n"
      "  transaction_id  1\n"
      "  status          torn\n"
      "  occurred_at     1795264267\n"
      "  the status map has no status \"torn\"\n"
      "1 of 3 events would be applied; nothing was changed\n");
  const auto shown = cli_.run({"source", "try", "vendor", "--json"}, sample);
  EXPECT_EQ(shown.code, 1);
  const Json trial = tests::parse_json(shown.out);
  EXPECT_EQ(trial["applied"], 1);
  EXPECT_TRUE(trial["refusal"].is_null());
  EXPECT_EQ(trial["events"][0]["status"], "opened");
  EXPECT_EQ(trial["events"][0]["gift"], "exists");
  EXPECT_EQ(trial["events"][0]["recipient_transaction_id"], 1);
  EXPECT_EQ(trial["events"][0]["fields"]["transaction_id"], "1");
  EXPECT_EQ(trial["events"][2]["reason"], "unknown_status");
  EXPECT_TRUE(trial["events"][2]["status"].is_null());
  EXPECT_EQ(cli_.run({"source", "try", "vendor"}, R"({"id":1,"s":"seen","at":1795264267})").code, 0);
  EXPECT_EQ(cli_.run({"source", "try", "vendor", cli_.write("sample.json", "[]")}).code, 0);
}

// SRC-62
TEST_F(CliSource, TrySaysWhatCannotBeTried) {
  const auto broken = cli_.run({"source", "try", "vendor"}, "{");
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.out, HasSubstr("The whole document would be refused: "));
  EXPECT_FALSE(
      tests::parse_json(cli_.run({"source", "try", "feed", "--json"}, "7").out)["refusal"].is_null());
  EXPECT_EQ(cli_.run({"source", "try", "unknown"}, "{}").code, 65);
  EXPECT_THAT(cli_.run({"source", "try", "former"}, "{}").err, HasSubstr("not in the settings"));
  EXPECT_EQ(cli_.run({"source", "try", "vendor", cli_.path("none.json")}).code, 66);
  cli_.write_settings(
      "sources:\n  - { name: mails, preset: postmark, secret: \"user:long enough password\" }\n");
  const auto preset = cli_.run({"source", "try", "mails"}, "{}");
  EXPECT_EQ(preset.code, 65);
  EXPECT_THAT(preset.err, HasSubstr("it has a preset"));
}

TEST_F(CliSource, StatusAndSettingsShowThemWithoutSecrets) {
  EXPECT_EQ(json({"status"})["sources"][0]["state"], "removed");
  EXPECT_EQ(json({"status"})["sources"][1]["state"], "invalid");
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("source    former: removed; 0 accepted"));
  EXPECT_THAT(cli_.run({"status"}).out,
              HasSubstr("source    vendor: invalid, no JSON; 2 accepted, 1 of them orphaned, 1 quarantined"));
  const Json shown = json({"settings", "show"});
  EXPECT_EQ(shown["sources"][0]["secret"], "********");
  EXPECT_EQ(shown["sources"][0]["status_map"]["seen"], "opened");
  EXPECT_EQ(shown["sources"][1]["headers"]["Authorization"], "********");
  EXPECT_EQ(shown["sources"][1]["interval"], 60);
  const auto text = cli_.run({"settings", "show"});
  EXPECT_THAT(text.out, HasSubstr("sources[1].url: \"https://api.example.com\""));
  EXPECT_THAT(text.out, Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace giftsync::cli
