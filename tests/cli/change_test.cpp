// Commands for wrong changes: list conflicts, void and restore a change, list and purge orphaned changes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "cli/console.h"
#include "cli/status/change_import.h"
#include "daemon/config/settings.h"
#include "daemon/wiring/database_config.h"
#include "sync/crm/sync_step.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliChanges : public ::testing::Test {
 protected:
  void sync() {
    const sql::Dsn address = cli_.address();
    store::Store store(address);
    const crm::MatchFields fields = wiring::match_fields(config::MatchingSettings{});
    const auto crm = crm::managed::make_managed_crm({address, "giftsync", fields});
    sync::SyncRules rules;
    rules.match_fields = fields;
    rules.link_of = [](const auto&) { return "http://127.0.0.1:8480/g/x"; };
    while (sync::sync_step(store, *crm, rules, {"test"}, cli_.now).claimed > 0) continue;
  }
  void report(std::int64_t gift, const std::string& status, const std::string& time,
              const std::string& event = "e") {
    cli_.run({"change", "import", "-"}, "{\"recipient_transaction_id\":" + std::to_string(gift) +
                                            ",\"status\":\"" + status + "\",\"occurred_at\":\"2026-11-21T" +
                                            time + "Z\",\"event_id\":\"" + event + "\"}\n");
  }
  /// An external gift that was opened.
  void ingest_vendor_gift(std::int64_t gift) {
    store::Store store(cli_.address());
    store.sources.open("vendor", "vendor", cli_.now);
    store::InboundBatch report;
    report.source = report.gift_source = "vendor";
    report.now = cli_.now;
    store::InboundItem& item = report.items.emplace_back();
    item.gift.emplace().id = {gift};
    item.gift->sent_at = cli_.now;
    item.change = store::StatusChange{{}, "", {gift}, Status::opened, cli_.now, cli_.now, {}};
    store.sources.accept(report);
  }
  Json json(std::vector<std::string> args) {
    args.push_back("--json");
    return tests::parse_ordered_json(cli_.run(args).out);
  }
  CliFixture cli_;
};

// STATUS-15, STATUS-22, STATUS-10
TEST_F(CliChanges, ConflictingGiftsAreListedUntilTheWrongChangeIsVoided) {
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com"});
  const std::string gift = std::to_string(ids[0].value);
  report(ids[0].value, "donated", "10:00:00");
  report(ids[0].value, "redeemed", "11:00:00");
  report(ids[1].value, "redeemed", "11:00:00");
  sync();
  const Json listed = json({"gift", "list", "--conflicting"});
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0]["RecipientTransactionId"], ids[0].value);
  EXPECT_EQ(listed[0]["RecipientTransactionStatus"], "donated");
  ASSERT_THAT(listed[0]["conflicts"], SizeIs(1));
  EXPECT_THAT(listed[0]["conflicts"][0].get<std::string>(), HasSubstr("redeemed after it was donated"));
  EXPECT_THAT(cli_.run({"gift", "list", "--conflicting"}).out, HasSubstr("redeemed after it was donated"));
  EXPECT_EQ(cli_.run({"gift", "list", "--conflicting", "--skipped"}).code, 64);

  const Json detail = json({"gift", "show", gift});
  EXPECT_EQ(detail["has_conflict"], true);
  const Json& wrong = detail["history"][0];
  ASSERT_EQ(wrong["status"], "donated");
  const std::string id = std::to_string(wrong["id"].get<std::int64_t>());
  EXPECT_THAT(cli_.run({"gift", "show", gift}).out, HasSubstr("change " + id));

  const auto voided = cli_.run({"change", "void", id, "--reason", "the vendor mixed gifts up"});
  EXPECT_EQ(voided.code, 0);
  EXPECT_THAT(voided.err, HasSubstr("is voided"));
  EXPECT_THAT(cli_.run({"change", "void", id}).err, HasSubstr("is already voided"));
  EXPECT_EQ(cli_.run({"change", "void", id}).code, 0) << "repeating changes nothing";
  report(ids[0].value, "donated", "10:00:00", "e-again");
  sync();
  EXPECT_THAT(json({"gift", "list", "--conflicting"}), IsEmpty());
  const Json after = json({"gift", "show", gift});
  EXPECT_EQ(after["status"], "redeemed");
  EXPECT_EQ(after["record"]["RecipientTransactionStatus"], "redeemed");
  EXPECT_TRUE(after["record"]["Donated_Date_Time"].is_null());
  EXPECT_EQ(after["history"][0]["voided"]["reason"], "the vendor mixed gifts up");
  EXPECT_EQ(after["history"][0]["voided"]["by"], os_user());
  EXPECT_EQ(after["history"][0]["voided"]["at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(after["history"][0]["event_ids"], tests::parse_ordered_json("[\"e\", \"e-again\"]"));
  EXPECT_THAT(cli_.run({"gift", "show", gift}).out, HasSubstr("voided 2026-11-21 12:31 UTC by " + os_user()));
}

TEST_F(CliChanges, ListsChanges) {
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com"});
  report(ids[0].value, "opened", "10:00:00", "e1");
  report(ids[1].value, "opened", "10:00:00", "e2");
  report(999, "opened", "10:00:00", "e3");
  EXPECT_THAT(json({"change", "list"}), SizeIs(3));
  const Json one = json({"change", "list", "--gift", std::to_string(ids[1].value)});
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0]["event_ids"][0], "e2");
  EXPECT_TRUE(one[0]["voided"].is_null());
  EXPECT_THAT(json({"change", "list", "--source", "timer"}), IsEmpty());
  EXPECT_THAT(json({"change", "list", "--test"}), IsEmpty());
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"change", "list", "--source", "unknown"},
        {"change", "list", "--orphaned", "--source", "unknown", "--json"},
        {"change", "purge", "--orphaned", "--source", "unknown", "--yes"}}) {
    const auto refused = cli_.run(args);
    EXPECT_EQ(refused.code, 65) << args[1];
    EXPECT_EQ(refused.out, "") << args[1];
    EXPECT_THAT(refused.err, AllOf(HasSubstr("there is no source \"unknown\"; the settings name none"),
                                   HasSubstr("reserved names of giftsync: import, mailer")));
  }
  const Json first = json({"change", "list", "--limit", "2"});
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0]["event_ids"][0], "e1");
  const Json last = json({"change", "list", "--newest", "--limit", "2"});
  ASSERT_THAT(last, SizeIs(2));
  EXPECT_EQ(last[0]["event_ids"][0], "e3");
  EXPECT_EQ(last[1]["event_ids"][0], "e2");
  EXPECT_THAT(cli_.run({"change", "list"}).out,
              AllOf(HasSubstr("GIFT"), HasSubstr("999"), HasSubstr("orphaned")));
  cli_.run({"change", "void", std::to_string(one[0]["id"].get<std::int64_t>()), "--reason", "oops"});
  EXPECT_THAT(cli_.run({"change", "list"}).out, HasSubstr(": oops"));
}

TEST_F(CliChanges, PagesOfChangesFollowEachOtherInEitherOrder) {
  const auto ids = cli_.send_gifts({"a@example.com"});
  std::string lines;
  for (int second = 0; second < 450; ++second)
    lines += fmt::format(
        "{{\"recipient_transaction_id\":{},\"status\":\"opened\",\"occurred_at\":\"2026-11-21T{:02}:{:02}:{:"
        "02}Z\"}}\n",
        ids[0].value, 10, second / 60, second % 60);
  cli_.run({"change", "import", "-"}, lines);
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

TEST_F(CliChanges, OrphanedChangesAreListedAndPurgedOnlyWithYes) {
  cli_.send_gifts({"a@example.com"});
  report(998, "opened", "10:00:00");
  cli_.now.value += 3 * kDayMillis;
  report(999, "opened", "11:00:00");
  const Json held = json({"change", "list", "--orphaned"});
  ASSERT_THAT(held, SizeIs(2));
  EXPECT_EQ(held[0]["recipient_transaction_id"], 998);
  EXPECT_EQ(held[0]["orphaned"], true);
  const auto asked = cli_.run({"change", "purge", "--orphaned", "--source", "import", "--older-than", "2d"});
  EXPECT_EQ(asked.code, 64);
  EXPECT_THAT(asked.err, AllOf(HasSubstr("1 orphaned change of "), HasSubstr("--yes")));
  EXPECT_EQ(
      cli_.run({"change", "purge", "--orphaned", "--source", "import", "--older-than", "2d", "--yes"}).out,
      "1 orphaned change purged\n");
  EXPECT_EQ(json({"change", "list", "--orphaned"})[0]["recipient_transaction_id"], 999);
  EXPECT_EQ(cli_.run({"change", "purge", "--orphaned", "--source", "import", "--yes"}).out,
            "1 orphaned change purged\n");
  EXPECT_THAT(cli_.run({"change", "list", "--orphaned"}).err, HasSubstr("No orphaned changes"));
  EXPECT_EQ(cli_.run({"change", "purge", "--orphaned", "--yes"}).code, 64) << "a source must be named";
  EXPECT_EQ(cli_.run({"change", "purge", "--orphaned", "--source", "import", "--older-than", "soon"}).code,
            64);
}

TEST_F(CliChanges, AChangeOfAnExternalGiftIsVoidedAndRestored) {
  cli_.run({"db", "migrate"});
  ingest_vendor_gift(9001);
  const Json changes = json({"change", "list", "--gift", "9001"});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes[0]["audit"], IsEmpty());
  const std::string id = std::to_string(changes[0]["id"].get<std::int64_t>());
  const auto voided = cli_.run({"change", "void", id, "--reason", "the wrong gift"});
  EXPECT_EQ(voided.code, 0);
  EXPECT_THAT(voided.err, HasSubstr("\"change restore " + id + "\" undoes this"));
  EXPECT_EQ(json({"change", "list"})[0]["voided"]["reason"], "the wrong gift");
  const auto restored = cli_.run({"change", "restore", id, "--reason", "it was right"});
  EXPECT_EQ(restored.code, 0);
  EXPECT_THAT(restored.err, HasSubstr("counts again"));
  const auto again = cli_.run({"change", "restore", id});
  EXPECT_EQ(again.code, 0) << "repeating changes nothing";
  EXPECT_THAT(again.err, HasSubstr("is not voided"));

  const Json one = json({"change", "list"})[0];
  EXPECT_TRUE(one["voided"].is_null());
  ASSERT_THAT(one["audit"], SizeIs(2));
  EXPECT_EQ(one["audit"][0]["kind"], "voided");
  EXPECT_EQ(one["audit"][0]["reason"], "the wrong gift");
  EXPECT_EQ(one["audit"][1]["kind"], "restored");
  EXPECT_EQ(one["audit"][1]["by"], os_user());
  EXPECT_EQ(one["audit"][1]["at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(one["audit"][1]["reason"], "it was right");
  const std::string trace = "voided 2026-11-21 12:31 UTC by " + os_user() + ": the wrong gift; restored " +
                            "2026-11-21 12:31 UTC by " + os_user() + ": it was right";
  EXPECT_THAT(cli_.run({"change", "list"}).out, HasSubstr(trace));
  EXPECT_THAT(cli_.run({"gift", "show", "9001"}).out, HasSubstr(trace));
  EXPECT_EQ(json({"gift", "show", "9001"})["history"][0]["audit"], one["audit"]);
}

TEST_F(CliChanges, ARestoredChangeOfAnUnknownGiftIsOrphanedAgain) {
  cli_.run({"db", "migrate"});
  report(999, "opened", "10:00:00");
  const std::string id = std::to_string(json({"change", "list", "--orphaned"})[0]["id"].get<std::int64_t>());
  cli_.run({"change", "void", id});
  EXPECT_THAT(json({"change", "list", "--orphaned"}), IsEmpty());
  const auto restored = cli_.run({"change", "restore", id});
  EXPECT_EQ(restored.code, 0);
  EXPECT_THAT(restored.err, HasSubstr("orphaned until gift 999 appears"));
  EXPECT_THAT(json({"change", "list", "--orphaned"}), SizeIs(1));
  EXPECT_THAT(cli_.run({"change", "list", "--orphaned"}).out, HasSubstr("; restored 2026-11-21 12:31 UTC"));
  EXPECT_THAT(cli_.run({"change", "list"}).out, HasSubstr("orphaned; voided 2026-11-21 12:31 UTC"));
}

TEST_F(CliChanges, AnOrphanedChangeOfAnotherSourcesGiftNamesThatSource) {
  cli_.run({"db", "migrate"});
  report(9001, "redeemed", "10:00:00");
  EXPECT_TRUE(json({"change", "list", "--orphaned"})[0]["gift_of"].is_null());
  ingest_vendor_gift(9001);
  const Json held = json({"change", "list", "--orphaned"});
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0]["gift_of"], "vendor");
  const std::string id = std::to_string(held[0]["id"].get<std::int64_t>());
  EXPECT_THAT(cli_.run({"change", "list", "--orphaned"}).out, HasSubstr("change void " + id));
  EXPECT_EQ(cli_.run({"change", "void", id}).code, 0);
  EXPECT_THAT(json({"change", "list", "--orphaned"}), IsEmpty());
  const auto refused = cli_.run({"change", "restore", id});
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("gift 9001 belongs to \"vendor\""), HasSubstr("stays voided")));
}

TEST_F(CliChanges, RefusesToVoidOrRestoreAnUnknownChange) {
  cli_.send_gifts({"a@example.com"});
  for (const std::string verb : {"void", "restore"}) {
    const auto result = cli_.run({"change", verb, "77"});
    EXPECT_EQ(result.code, 65) << verb;
    EXPECT_THAT(result.err, HasSubstr("there is no change 77")) << verb;
    EXPECT_EQ(cli_.run({"change", verb, "none"}).code, 64) << verb;
    EXPECT_EQ(cli_.run({"change", verb, "77", "--reason", std::string(1001, 'x')}).code, 64) << verb;
  }
}

// SYNC-27
TEST_F(CliChanges, TheGiftsOfALongFileAreSyncedOnceItHasBeenRead) {
  const auto ids = cli_.send_gifts({"a@example.com", "b@example.com"});
  sync();
  std::ofstream file(cli_.path("long.ndjson"));
  for (int number = 0; number < 200; ++number)
    file << "{\"recipient_transaction_id\":" << ids[number % 2].value
         << ",\"status\":\"opened\",\"occurred_at\":\"2026-11-21T10:00:" << 10 + number / 4 << "Z\"}\n";
  file.close();
  std::ostringstream out;
  std::ostringstream err;
  std::istringstream in;
  const Console console{out, err, in, false, [this] { return cli_.now; }};
  auto opened = InputFile::open(cli_.path("long.ndjson"), console);
  store::Store store(cli_.address());
  const std::size_t max_bytes_of_ten = 400;
  EXPECT_EQ(import_changes(console, store, opened.value(), max_bytes_of_ten), 0) << err.str();
  EXPECT_EQ(out.str(), "200 lines: 100 accepted, 100 duplicates, 0 orphaned, 0 refused\n");
  EXPECT_THAT(store.sync.claim("test", 60'000, 10, cli_.now), SizeIs(2)) << "no gift is delayed any more";
}

}  // namespace
}  // namespace giftsync::cli
