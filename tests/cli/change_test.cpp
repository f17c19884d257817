// What an admin does about wrong reports: sees contradictions, voids a change, looks at and discards held
// ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/cli/change_import.h"
#include "daemon/cli/os_user.h"
#include "daemon/settings/settings.h"
#include "daemon/store_address.h"
#include "sync/sync_step.h"
#include "tests/cli/desk.h"

namespace giftsync::daemon {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliReports : public ::testing::Test {
 protected:
  void sync() {
    const schema::DatabaseAddress address = desk_.address();
    schema::Store store(address);
    const schema::MatchFields fields = match_fields(MatchingSettings{});
    const auto crm = schema::make_sql_crm({address, "giftsync", fields});
    sync::SyncRules rules;
    rules.match_fields = fields;
    rules.link_of = [](const auto&) { return "http://127.0.0.1:8480/g/x"; };
    while (sync::sync_step(store, *crm, rules, {"test"}, desk_.now).claimed > 0) continue;
  }
  void report(std::int64_t gift, const std::string& status, const std::string& time,
              const std::string& event = "e") {
    desk_.run({"change", "import", "-"}, "{\"recipient_transaction_id\":" + std::to_string(gift) +
                                             ",\"status\":\"" + status + "\",\"occurred_at\":\"2026-11-21T" +
                                             time + "Z\",\"event_id\":\"" + event + "\"}\n");
  }
  /// A gift of an outside source, opened already.
  void vendor_sends(std::int64_t gift) {
    schema::Store store(desk_.address());
    store.sources.open("vendor", "vendor", desk_.now);
    schema::SourceReport report;
    report.source = report.origin = "vendor";
    report.now = desk_.now;
    schema::SourceItem& item = report.items.emplace_back();
    item.gift.emplace().id = {gift};
    item.gift->sent_at = desk_.now;
    item.change = schema::StatusChange{{}, "", {gift}, schema::Status::opened, desk_.now, desk_.now, {}};
    store.sources.accept(report);
  }
  Json json(std::vector<std::string> words) {
    words.push_back("--json");
    return Json::parse(desk_.run(words).out);
  }
  CliDesk desk_;
};

TEST_F(CliReports, ContradictoryGiftsAreListedUntilTheWrongReportIsVoided) {
  const auto ids = desk_.send_gifts({"a@example.com", "b@example.com"});
  const std::string gift = std::to_string(ids[0].value);
  report(ids[0].value, "donated", "10:00:00");
  report(ids[0].value, "redeemed", "11:00:00");
  report(ids[1].value, "redeemed", "11:00:00");
  sync();
  const Json listed = json({"gift", "list", "--contradictory"});
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0]["RecipientTransactionId"], ids[0].value);
  EXPECT_EQ(listed[0]["RecipientTransactionStatus"], "donated");
  ASSERT_THAT(listed[0]["contradictions"], SizeIs(1));
  EXPECT_THAT(listed[0]["contradictions"][0].get<std::string>(), HasSubstr("redeemed after it was donated"));
  EXPECT_THAT(desk_.run({"gift", "list", "--contradictory"}).out, HasSubstr("redeemed after it was donated"));
  EXPECT_EQ(desk_.run({"gift", "list", "--contradictory", "--skipped"}).code, 64);

  const Json story = json({"gift", "show", gift});
  EXPECT_EQ(story["contradictory"], true);
  const Json& wrong = story["history"][0];
  ASSERT_EQ(wrong["status"], "donated");
  const std::string id = std::to_string(wrong["id"].get<std::int64_t>());
  EXPECT_THAT(desk_.run({"gift", "show", gift}).out, HasSubstr("change " + id));

  const auto voided = desk_.run({"change", "void", id, "--reason", "the vendor mixed gifts up"});
  EXPECT_EQ(voided.code, 0);
  EXPECT_THAT(voided.err, HasSubstr("is voided"));
  EXPECT_THAT(desk_.run({"change", "void", id}).err, HasSubstr("was voided already"));
  EXPECT_EQ(desk_.run({"change", "void", id}).code, 0) << "repeating is harmless";
  report(ids[0].value, "donated", "10:00:00", "e-again");
  sync();
  EXPECT_THAT(json({"gift", "list", "--contradictory"}), IsEmpty());
  const Json after = json({"gift", "show", gift});
  EXPECT_EQ(after["status"], "redeemed");
  EXPECT_EQ(after["record"]["RecipientTransactionStatus"], "redeemed");
  EXPECT_TRUE(after["record"]["Donated_Date_Time"].is_null());
  EXPECT_EQ(after["history"][0]["voided"]["reason"], "the vendor mixed gifts up");
  EXPECT_EQ(after["history"][0]["voided"]["by"], os_user());
  EXPECT_EQ(after["history"][0]["voided"]["at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(after["history"][0]["event_ids"], Json::parse("[\"e\", \"e-again\"]"));
  EXPECT_THAT(desk_.run({"gift", "show", gift}).out,
              HasSubstr("voided 2026-11-21 12:31 UTC by " + os_user()));
}

TEST_F(CliReports, ListsChanges) {
  const auto ids = desk_.send_gifts({"a@example.com", "b@example.com"});
  report(ids[0].value, "opened", "10:00:00", "e1");
  report(ids[1].value, "opened", "10:00:00", "e2");
  report(999, "opened", "10:00:00", "e3");
  EXPECT_THAT(json({"change", "list"}), SizeIs(3));
  const Json one = json({"change", "list", "--gift", std::to_string(ids[1].value)});
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0]["event_ids"][0], "e2");
  EXPECT_TRUE(one[0]["voided"].is_null());
  EXPECT_THAT(json({"change", "list", "--source", "timer"}), IsEmpty());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"change", "list", "--source", "nobody"},
        {"change", "held", "--source", "nobody", "--json"},
        {"change", "discard", "--source", "nobody", "--yes"}}) {
    const auto refused = desk_.run(words);
    EXPECT_EQ(refused.code, 65) << words[1];
    EXPECT_EQ(refused.out, "") << words[1];
    EXPECT_THAT(refused.err, AllOf(HasSubstr("there is no source \"nobody\"; the settings name none"),
                                   HasSubstr("giftsync's own: import, mailer")));
  }
  const Json first = json({"change", "list", "--limit", "2"});
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0]["event_ids"][0], "e1");
  const Json last = json({"change", "list", "--newest", "--limit", "2"});
  ASSERT_THAT(last, SizeIs(2));
  EXPECT_EQ(last[0]["event_ids"][0], "e3");
  EXPECT_EQ(last[1]["event_ids"][0], "e2");
  EXPECT_THAT(desk_.run({"change", "list"}).out,
              AllOf(HasSubstr("GIFT"), HasSubstr("999"), HasSubstr("held")));
  desk_.run({"change", "void", std::to_string(one[0]["id"].get<std::int64_t>()), "--reason", "oops"});
  EXPECT_THAT(desk_.run({"change", "list"}).out, HasSubstr(": oops"));
}

TEST_F(CliReports, PagesOfChangesFollowEachOtherInEitherOrder) {
  const auto ids = desk_.send_gifts({"a@example.com"});
  std::string lines;
  for (int second = 0; second < 450; ++second)
    lines += fmt::format(
        "{{\"recipient_transaction_id\":{},\"status\":\"opened\",\"occurred_at\":\"2026-11-21T{:02}:{:02}:{:"
        "02}Z\"}}\n",
        ids[0].value, 10, second / 60, second % 60);
  desk_.run({"change", "import", "-"}, lines);
  const auto listed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"change", "list"});
    std::vector<std::int64_t> found;
    for (const Json& change : json(more)) found.push_back(change["id"].get<std::int64_t>());
    return found;
  };
  std::vector<std::int64_t> all = listed({});
  EXPECT_THAT(all, SizeIs(450));
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(listed({"--newest"}), all);
  EXPECT_EQ(listed({"--newest", "--limit", "201"}), std::vector(all.begin(), all.begin() + 201));
}

TEST_F(CliReports, HeldChangesAreListedAndDiscardedOnlyWithYes) {
  desk_.send_gifts({"a@example.com"});
  report(998, "opened", "10:00:00");
  desk_.now.value += 3 * schema::kDayMillis;
  report(999, "opened", "11:00:00");
  const Json held = json({"change", "held"});
  ASSERT_THAT(held, SizeIs(2));
  EXPECT_EQ(held[0]["recipient_transaction_id"], 998);
  EXPECT_EQ(held[0]["held"], true);
  const auto asked = desk_.run({"change", "discard", "--source", "import", "--older-than", "2d"});
  EXPECT_EQ(asked.code, 64);
  EXPECT_THAT(asked.err, AllOf(HasSubstr("1 held change of "), HasSubstr("--yes")));
  EXPECT_EQ(desk_.run({"change", "discard", "--source", "import", "--older-than", "2d", "--yes"}).out,
            "1 held change discarded\n");
  EXPECT_EQ(json({"change", "held"})[0]["recipient_transaction_id"], 999);
  EXPECT_EQ(desk_.run({"change", "discard", "--source", "import", "--yes"}).out, "1 held change discarded\n");
  EXPECT_THAT(desk_.run({"change", "held"}).err, HasSubstr("No changes are held"));
  EXPECT_EQ(desk_.run({"change", "discard", "--yes"}).code, 64) << "a source must be named";
  EXPECT_EQ(desk_.run({"change", "discard", "--source", "import", "--older-than", "soon"}).code, 64);
}

TEST_F(CliReports, AChangeOfAnOutsideSourcesGiftIsVoidedAndRestored) {
  desk_.run({"db", "migrate"});
  vendor_sends(9001);
  const Json changes = json({"change", "list", "--gift", "9001"});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes[0]["reviews"], IsEmpty());
  const std::string id = std::to_string(changes[0]["id"].get<std::int64_t>());
  const auto voided = desk_.run({"change", "void", id, "--reason", "the wrong gift"});
  EXPECT_EQ(voided.code, 0);
  EXPECT_THAT(voided.err, HasSubstr("\"change restore " + id + "\" takes it back"));
  EXPECT_EQ(json({"change", "list"})[0]["voided"]["reason"], "the wrong gift");
  const auto restored = desk_.run({"change", "restore", id, "--reason", "it was right"});
  EXPECT_EQ(restored.code, 0);
  EXPECT_THAT(restored.err, HasSubstr("counts again"));
  const auto again = desk_.run({"change", "restore", id});
  EXPECT_EQ(again.code, 0) << "repeating is harmless";
  EXPECT_THAT(again.err, HasSubstr("is not voided"));

  const Json one = json({"change", "list"})[0];
  EXPECT_TRUE(one["voided"].is_null());
  ASSERT_THAT(one["reviews"], SizeIs(2));
  EXPECT_EQ(one["reviews"][0]["kind"], "voided");
  EXPECT_EQ(one["reviews"][0]["reason"], "the wrong gift");
  EXPECT_EQ(one["reviews"][1]["kind"], "restored");
  EXPECT_EQ(one["reviews"][1]["by"], os_user());
  EXPECT_EQ(one["reviews"][1]["at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(one["reviews"][1]["reason"], "it was right");
  const std::string trace = "voided 2026-11-21 12:31 UTC by " + os_user() + ": the wrong gift; restored " +
                            "2026-11-21 12:31 UTC by " + os_user() + ": it was right";
  EXPECT_THAT(desk_.run({"change", "list"}).out, HasSubstr(trace));
  EXPECT_THAT(desk_.run({"gift", "show", "9001"}).out, HasSubstr(trace));
  EXPECT_EQ(json({"gift", "show", "9001"})["history"][0]["reviews"], one["reviews"]);
}

TEST_F(CliReports, ARestoredChangeOfAnUnknownGiftIsHeldAgain) {
  desk_.run({"db", "migrate"});
  report(999, "opened", "10:00:00");
  const std::string id = std::to_string(json({"change", "held"})[0]["id"].get<std::int64_t>());
  desk_.run({"change", "void", id});
  EXPECT_THAT(json({"change", "held"}), IsEmpty());
  const auto restored = desk_.run({"change", "restore", id});
  EXPECT_EQ(restored.code, 0);
  EXPECT_THAT(restored.err, HasSubstr("held until gift 999 appears"));
  EXPECT_THAT(json({"change", "held"}), SizeIs(1));
  EXPECT_THAT(desk_.run({"change", "held"}).out, HasSubstr("; restored 2026-11-21 12:31 UTC"));
  EXPECT_THAT(desk_.run({"change", "list"}).out, HasSubstr("held; voided 2026-11-21 12:31 UTC"));
}

TEST_F(CliReports, AHeldChangeWhoseGiftTurnsOutToBeAnothersSaysSo) {
  desk_.run({"db", "migrate"});
  report(9001, "redeemed", "10:00:00");
  EXPECT_TRUE(json({"change", "held"})[0]["gift_of"].is_null());
  vendor_sends(9001);
  const Json held = json({"change", "held"});
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0]["gift_of"], "vendor");
  const std::string id = std::to_string(held[0]["id"].get<std::int64_t>());
  EXPECT_THAT(desk_.run({"change", "held"}).out, HasSubstr("change void " + id));
  EXPECT_EQ(desk_.run({"change", "void", id}).code, 0);
  EXPECT_THAT(json({"change", "held"}), IsEmpty());
  const auto refused = desk_.run({"change", "restore", id});
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("gift 9001 is of \"vendor\""), HasSubstr("stays voided")));
}

TEST_F(CliReports, RefusesToVoidOrRestoreWhatIsNotThere) {
  desk_.send_gifts({"a@example.com"});
  for (const std::string verb : {"void", "restore"}) {
    const auto answer = desk_.run({"change", verb, "77"});
    EXPECT_EQ(answer.code, 65) << verb;
    EXPECT_THAT(answer.err, HasSubstr("there is no change 77")) << verb;
    EXPECT_EQ(desk_.run({"change", verb, "none"}).code, 64) << verb;
    EXPECT_EQ(desk_.run({"change", verb, "77", "--reason", std::string(1001, 'x')}).code, 64) << verb;
  }
}

TEST_F(CliReports, TheGiftsOfALongFileAreSyncedOnceItHasBeenRead) {
  const auto ids = desk_.send_gifts({"a@example.com", "b@example.com"});
  sync();
  std::ofstream file(desk_.path("long.ndjson"));
  for (int number = 0; number < 200; ++number)
    file << "{\"recipient_transaction_id\":" << ids[number % 2].value
         << ",\"status\":\"opened\",\"occurred_at\":\"2026-11-21T10:00:" << 10 + number / 4 << "Z\"}\n";
  file.close();
  std::ostringstream out;
  std::ostringstream err;
  std::istringstream in;
  const Console console{out, err, in, false, [this] { return desk_.now; }};
  auto opened = InputFile::open(desk_.path("long.ndjson"), console);
  schema::Store store(desk_.address());
  const std::size_t room_for_ten = 400;
  EXPECT_EQ(import_changes(console, store, std::get<InputFile>(opened), room_for_ten), 0) << err.str();
  EXPECT_EQ(out.str(), "200 lines: 100 accepted, 100 repeated, 0 held, 0 refused\n");
  EXPECT_THAT(store.sync.claim("test", 60'000, 10, desk_.now), SizeIs(2)) << "none rests any more";
}

}  // namespace
}  // namespace giftsync::daemon
