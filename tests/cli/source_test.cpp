// source list, aside, discard, rewind; the sources in status and settings show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "schema/text.h"
#include "tests/cli/desk.h"

namespace giftsync::daemon {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SourceCommands : public ::testing::Test {
 protected:
  SourceCommands() {
    desk_.write_settings(
        "sources:\n"
        "  - { name: vendor, secret: whsec_aHVzaGh1c2hodXNoaHVzaGh1c2g=,\n"
        "      fields: { transaction_id: /id, status: /s, occurred_at: /at }, status_map: { seen: opened } "
        "}\n"
        "  - { name: feed, type: poll, url: \"https://api.example.com\", headers: { Authorization: hush },\n"
        "      fields: { transaction_id: /id, status: /s, occurred_at: /at } }\n");
    const auto ids = desk_.send_gifts({"ada@example.com"});
    schema::Store store(desk_.address());
    store.sources.open("vendor", "", desk_.now);
    store.sources.open("former", "", desk_.now);
    schema::SourceReport report;
    report.source = "vendor";
    report.now = desk_.now;
    report.ignored = 7;
    report.items.emplace_back().change =
        schema::StatusChange{{}, "", ids[0], schema::Status::opened, desk_.now, desk_.now, {}};
    report.items.emplace_back().change =
        schema::StatusChange{{}, "", {4711}, schema::Status::opened, desk_.now, desk_.now, {}};
    schema::SourceItem& aside = report.items.emplace_back();
    aside.kept_aside = true;
    aside.aside = {
        0,    "vendor", schema::AsideReason::word,    "un\x1bwrapped", "the status map has no such word",
        "17", "d",      "{\"status\":\"unwrapped\"}", desk_.now};
    report.items[1].held_detail = "it tells no recipient";
    report.items[1].aside.digest = "h";
    report.items[1].aside.report = "{\"item\":\"as it came\"}";
    store.sources.accept(report);
    store.sources.note_state("vendor", "garbage", "no JSON", desk_.now);
  }
  Json json(std::vector<std::string> words) {
    words.push_back("--json");
    const auto answer = desk_.run(words);
    EXPECT_EQ(answer.code, 0) << answer.err;
    return Json::parse(answer.out);
  }
  CliDesk desk_;
};

TEST_F(SourceCommands, ListShowsThoseOfTheSettingsAndOfTheStore) {
  const Json rows = json({"source", "list"});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0]["name"], "former");
  EXPECT_EQ(rows[0]["type"], "removed");
  EXPECT_EQ(rows[1]["state"], "garbage");
  EXPECT_EQ(rows[1]["reason"], "no JSON");
  EXPECT_EQ(rows[1]["accepted"], 2);
  EXPECT_EQ(rows[1]["ignored"], 7);
  EXPECT_EQ(rows[1]["held"], 1);
  EXPECT_EQ(rows[1]["kept_aside"], 1);
  EXPECT_EQ(rows[2]["type"], "poll");
  EXPECT_EQ(rows[2]["state"], "new");
  EXPECT_THAT(desk_.run({"source", "list"}).out, HasSubstr("no JSON"));
  EXPECT_THAT(desk_.run({"source", "list"}).out, HasSubstr("HELD NOW"));
}

TEST_F(SourceCommands, ListFitsATerminalOf80Columns) {
  const std::string longest(64, 'n');
  schema::Store(desk_.address()).sources.open(longest, "", desk_.now);
  desk_.columns = 80;
  const std::string out = desk_.run({"source", "list"}).out;
  EXPECT_THAT(out, HasSubstr("IGNORED"));
  EXPECT_THAT(out,
              HasSubstr("    webhook, garbage since 2026-11-21 12:31 UTC, last heard 2026-11-21 12:31 UTC: "
                        "no JSON\n"));
  EXPECT_THAT(out, HasSubstr("    poll\n")) << "no daemon has met it yet";
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("    ")) continue;
    EXPECT_LE(schema::count_code_points(line), 80u) << line;
  }
}

TEST_F(SourceCommands, AsideListsWhatCouldNotBeApplied) {
  const Json rows = json({"source", "aside", "vendor"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["reason"], "word");
  EXPECT_EQ(rows[0]["report"]["status"], "unwrapped");
  EXPECT_THAT(json({"source", "aside", "feed"}), IsEmpty());
  EXPECT_EQ(json({"source", "aside", "--words"})[0]["count"], 1);
  EXPECT_THAT(desk_.run({"source", "aside", "feed"}).err, HasSubstr("No report was kept aside"));
  EXPECT_THAT(desk_.run({"source", "aside"}).out, HasSubstr("RECEIVED (UTC)"));
  EXPECT_THAT(CliDesk().run({"source", "list"}).err, HasSubstr("There are no sources"));
  EXPECT_THAT(desk_.run({"source", "aside"}).out, Not(HasSubstr("\x1b")))
      << "a vendor's words cannot steer a terminal";
}

TEST_F(SourceCommands, AsideListsTheReportsBesideHeldChangesOnlyWhenAsked) {
  const Json rows = json({"source", "aside", "vendor", "--held"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["reason"], "no_gift");
  EXPECT_EQ(rows[0]["recipient_transaction_id"], "4711");
  EXPECT_EQ(rows[0]["detail"], "it tells no recipient");
  EXPECT_EQ(rows[0]["report"]["item"], "as it came");
  EXPECT_EQ(desk_.run({"source", "aside", "--held", "--words"}).code, 64);
  EXPECT_EQ(desk_.run({"source", "discard", "vendor", "aside"}).out, "1 discarded\n");
  EXPECT_THAT(json({"source", "aside", "--held"}), SizeIs(1)) << "it goes with its change";
  EXPECT_EQ(desk_.run({"source", "discard", "vendor", "held"}).out, "1 discarded\n");
  EXPECT_THAT(desk_.run({"source", "aside", "--held"}).err, HasSubstr("No report is kept beside"));
}

TEST_F(SourceCommands, DiscardThrowsAwayWhatIsNamed) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"source", "discard", "nobody", "held"},
        {"source", "aside", "nobody"},
        {"source", "aside", "nobody", "--words"},
        {"change", "list", "--source", "nobody"}}) {
    const auto refused = desk_.run(words);
    EXPECT_EQ(refused.code, 65) << words[0] << ' ' << words[1];
    EXPECT_THAT(refused.err, HasSubstr("there is no source \"nobody\"; known: feed, former, vendor"));
  }
  EXPECT_EQ(desk_.run({"source", "aside", "former"}).code, 0) << "the store still knows it";
  EXPECT_EQ(desk_.run({"change", "list", "--source", "former"}).code, 0);
  EXPECT_EQ(desk_.run({"source", "discard", "vendor", "everything"}).code, 64);
  EXPECT_EQ(desk_.run({"source", "discard", "vendor", "time"}).out, "0 discarded\n");
  EXPECT_EQ(desk_.run({"source", "discard", "vendor", "aside"}).out, "1 discarded\n");
  EXPECT_EQ(desk_.run({"source", "discard", "vendor", "held"}).out, "1 discarded\n");
  EXPECT_EQ(json({"source", "list"})[1]["held"], 0);
}

TEST_F(SourceCommands, RewindForgetsHowFarAPollHasCome) {
  EXPECT_EQ(desk_.run({"source", "rewind", "nobody"}).code, 65);
  EXPECT_EQ(desk_.run({"source", "rewind", "former"}).code, 65);
  EXPECT_THAT(desk_.run({"source", "rewind", "vendor"}).err, HasSubstr("is no poll"));
  EXPECT_THAT(desk_.run({"source", "rewind", "feed"}).err, HasSubstr("No daemon has asked feed yet"));
  {
    schema::Store store(desk_.address());
    store.sources.open("feed", "", desk_.now);
    ASSERT_TRUE(store.sources.claim("feed", "daemon", 120'000, desk_.now));
    store.sources.rest("feed", "daemon", {desk_.now + 3'600'000, 7, "{\"cursor\":\"5\"}"});
  }
  EXPECT_EQ(json({"source", "list"})[0]["position"], "{\"cursor\":\"5\"}");
  EXPECT_EQ(desk_.run({"source", "rewind", "feed"}).out, "feed is asked from its beginning, at once\n");
  const Json feed = json({"source", "list"})[0];
  EXPECT_EQ(feed["name"], "feed");
  EXPECT_TRUE(feed["position"].is_null());
  EXPECT_EQ(feed["failures"], 0);
  schema::Store store(desk_.address());
  EXPECT_TRUE(store.sources.claim("feed", "daemon", 120'000, desk_.now)) << "it is due";
}

TEST_F(SourceCommands, StatusAndSettingsShowThemWithoutSecrets) {
  EXPECT_EQ(json({"status"})["sources"][0]["state"], "removed");
  EXPECT_EQ(json({"status"})["sources"][1]["state"], "garbage");
  EXPECT_THAT(desk_.run({"status"}).out, HasSubstr("source    former: removed; 0 accepted"));
  EXPECT_THAT(desk_.run({"status"}).out,
              HasSubstr("source    vendor: garbage, no JSON; 2 accepted, 1 of them held now, 1 kept"));
  const Json shown = json({"settings", "show"});
  EXPECT_EQ(shown["sources"][0]["secret"], "********");
  EXPECT_EQ(shown["sources"][0]["status_map"]["seen"], "opened");
  EXPECT_EQ(shown["sources"][1]["headers"]["Authorization"], "********");
  EXPECT_EQ(shown["sources"][1]["interval"], 60);
  const auto text = desk_.run({"settings", "show"});
  EXPECT_THAT(text.out, HasSubstr("sources[2].url: \"https://api.example.com\""));
  EXPECT_THAT(text.out, Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace giftsync::daemon
