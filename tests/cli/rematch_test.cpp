// match, rematch, task list and the listings of skipped and unlinked gifts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/resumable_run.h"
#include "daemon/wiring/server_secret.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliRematch : public ::testing::Test {
 protected:
  /// Runs the daemon's sync step, with the settings of the command line.
  void sync() {
    auto read = read_cli_settings(cli_.path("giftsyncd.yaml"));
    std::ostringstream out, err;
    std::istringstream in;
    const Console console{out, err, in, false, [this] { return cli_.now; }};
    auto opened = open_cli_context(read.value(), console);
    SyncDrainer(console, *opened.value()).write(sent_);
  }
  void send(const std::vector<std::string>& emails) {
    cli_.run({"db", "migrate"});
    auto read = read_cli_settings(cli_.path("giftsyncd.yaml"));
    store::Store store(cli_.address());
    wiring::load_server_secret(read.value(),
                               store);  // as a daemon's first start does it
    sent_ = cli_.send_gifts(emails);
  }
  void import(const std::string& object, const std::string& rows) {
    EXPECT_EQ(cli_.run({"crm", "import", "--object", object, "-"}, rows).code, 0);
  }
  void import_ada() {
    import("contact",
           "Id,Email,Phone,AccountId,LastModifiedDate\n003A,ada@example.com,(650) 867-3450,001A,2026-01-02\n"
           "003B,ada@example.com,,001A,2026-01-01\n");
    import("opportunity",
           "Id,Name,StageName,IsClosed,CloseDate\n006A,Generators,Closing,false,2027-01-01\n"
           "006B,Service,New,false,2027-02-01\n");
    import("opportunity_contact_role", "Id,ContactId,OpportunityId\n00KA,003A,006A\n00KB,003A,006B\n");
  }
  Json json(std::vector<std::string> args) {
    args.emplace_back("--json");
    const auto result = cli_.run(args);
    EXPECT_EQ(result.code, 0) << result.err;
    return tests::parse_ordered_json(result.out);
  }
  CliFixture cli_;
  std::vector<TransactionId> sent_;
};

TEST_F(CliRematch, MatchExplainsEachStep) {
  import_ada();
  import("lead", "Id,Email,IsConverted\n00QA,ada@example.com,false\n");
  const Json found = json({"match", "--email", "Ada@example.com"});
  EXPECT_EQ(found["contact_id"], "003A");
  EXPECT_EQ(found["account_id"], "001A");
  EXPECT_EQ(found["opportunity_id"], "006A");
  EXPECT_EQ(found["deal_stage"], "Closing");
  EXPECT_EQ(found["contacts"]["by_email"][0]["verdict"], "chosen");
  EXPECT_THAT(found["contacts"]["by_email"][1]["verdict"].get<std::string>(),
              HasSubstr("LastModifiedDate 2026-01-01"));
  EXPECT_EQ(found["leads"]["by_email"][0]["verdict"], "a contact matched by e-mail");
  EXPECT_EQ(found["opportunities"]["open"][0]["verdict"], "chosen");
  EXPECT_THAT(found["opportunities"]["open"][1]["verdict"].get<std::string>(),
              HasSubstr("CloseDate 2027-02-01"));
  const auto text = cli_.run({"match", "--phone", "+1 650 867 3450"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("contacts by phone"), HasSubstr("choice: contact 003A"),
                              HasSubstr("open opportunities of contact 003A"), HasSubstr("opportunity: 006A"),
                              Not(HasSubstr("by e-mail ("))));
  EXPECT_EQ(cli_.run({"match"}).code, 64);
}

// SYNC-58, MATCH-30
TEST_F(CliRematch, RelinksAfterADryRun) {
  send({"ada@example.com", "bob@example.com"});
  sync();
  import_ada();
  const auto dry = cli_.run({"rematch", "--unmatched", "--dry-run"});
  EXPECT_EQ(dry.code, 0);
  EXPECT_THAT(dry.out, AllOf(HasSubstr("would link"), HasSubstr("contact 003A")));
  EXPECT_THAT(dry.err, HasSubstr("2 gifts examined: 1 would be relinked, 1 unchanged. Nothing was written."));
  EXPECT_TRUE(json({"gift", "list"})[0]["RecipientContactId"].is_null());
  const Json would = json({"rematch", "--unmatched", "--dry-run"});
  EXPECT_EQ(would["summary"]["dry_run"], true);
  EXPECT_EQ(would["summary"]["relinked"], 1);
  EXPECT_EQ(would["gifts"][0]["outcome"], "relinked");
  const Json all = json({"rematch", "--unmatched"});
  EXPECT_EQ(all["summary"],
            tests::parse_ordered_json(R"({"dry_run": false, "examined": 2, "relinked": 1, "created": 0,
      "unchanged": 1, "manual_links_kept": 0, "deleted_in_crm": 0, "failed": 0, "queued_for_daemon": 0})"));
  const Json done = all["gifts"];
  ASSERT_THAT(done, SizeIs(1)) << "unchanged gifts are counted, not listed";
  EXPECT_EQ(done[0]["outcome"], "relinked");
  EXPECT_TRUE(done[0]["from"]["contact_id"].is_null());
  EXPECT_EQ(done[0]["to"]["opportunity_id"], "006A");
  EXPECT_EQ(json({"gift", "list"})[0]["RecipientContactId"], "003A");
  EXPECT_TRUE(json({"gift", "list"})[0]["Deal_Stage"].is_null());
  EXPECT_THAT(json({"rematch", "--unmatched"})["gifts"], IsEmpty());
}

// MATCH-32
TEST_F(CliRematch, AnAdminsLinkStays) {
  import_ada();
  import("lead", "Id,Email,IsConverted\n00QA,lee@example.com,false\n");
  send({"ada@example.com", "bob@example.com"});
  sync();
  const std::string gift = std::to_string(sent_[0].value);
  const Json linked = json({"gift", "link", gift, "--contact", "003B", "--reason", "Ada's second address"});
  EXPECT_THAT(cli_.run({"audit", "list", "--object", "gift " + gift}).out,
              AllOf(HasSubstr("gift.link"), HasSubstr("--contact 003B --reason Ada's second address")))
      << "CON-8";
  EXPECT_EQ(linked["contact_id"], "003B");
  EXPECT_EQ(linked["account_id"], "001A");
  EXPECT_EQ(linked["before"], "contact 003A, account 001A, opportunity 006A");
  const auto record = [&](std::size_t at) { return json({"gift", "list"})[at]; };
  EXPECT_EQ(record(0)["RecipientContactId"], "003B");
  EXPECT_TRUE(record(0)["Opportunity"].is_null()) << record(0).dump(1);
  EXPECT_TRUE(record(0)["Deal_Stage"].is_null());
  const Json shown = json({"gift", "show", gift});
  EXPECT_THAT(shown["match"]["linked_by"].get<std::string>(), Not(IsEmpty()));
  EXPECT_THAT(shown["match"]["reason"].get<std::string>(), HasSubstr("Ada's second address"));
  EXPECT_TRUE(shown["match"]["manual_links"].is_null());
  EXPECT_EQ(shown["actions"][0]["action"], "linked");
  EXPECT_THAT(shown["actions"][0]["comment"].get<std::string>(),
              HasSubstr("to contact 003B, account 001A: Ada's second address"));

  const auto again = cli_.run({"gift", "link", gift, "--contact", "003B", "--reason", "again"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("is linked so already"));
  for (const std::vector<std::string>& rematch :
       {std::vector<std::string>{"rematch", "--gift", gift}, {"rematch", "--unmatched"}}) {
    EXPECT_EQ(cli_.run(rematch).code, 0);
    EXPECT_EQ(record(0)["RecipientContactId"], "003B") << rematch.back();
  }
  EXPECT_THAT(json({"rematch", "--gift", gift})["gifts"][0]["note"].get<std::string>(),
              HasSubstr("gift link " + gift + " --by-rules"));

  EXPECT_EQ(json({"gift", "link", gift, "--by-rules"})["contact_id"], "003A");
  EXPECT_EQ(record(0)["RecipientContactId"], "003A");
  EXPECT_TRUE(json({"gift", "show", gift})["match"]["linked_by"].is_null());
  EXPECT_EQ(json({"gift", "link", gift, "--by-rules"})["changed"], false);
}

// MATCH-32
TEST_F(CliRematch, ALinkToNoOneStaysToo) {
  import_ada();
  send({"ada@example.com"});
  sync();
  const std::string gift = std::to_string(sent_[0].value);
  EXPECT_EQ(cli_.run({"gift", "link", gift, "--none", "--reason", "a test address"}).code, 0);
  EXPECT_EQ(cli_.run({"rematch", "--unmatched"}).code, 0);
  EXPECT_EQ(cli_.run({"rematch", "--gift", gift}).code, 0);
  EXPECT_TRUE(json({"gift", "list"})[0]["RecipientContactId"].is_null());
}

// MATCH-32
TEST_F(CliRematch, AMatchThatWasRightCanBeKept) {
  import_ada();
  send({"ada@example.com"});
  sync();
  const std::string gift = std::to_string(sent_[0].value);
  EXPECT_EQ(cli_.run({"gift", "link", gift, "--contact", "003A", "--reason", "checked by phone"}).code, 0);
  EXPECT_THAT(cli_.run({"gift", "show", gift}).out, HasSubstr("linked by"));
  EXPECT_EQ(json({"gift", "list"})[0]["Deal_Stage"], "Closing") << "the opportunity is the same";
}

// MATCH-32
TEST_F(CliRematch, ALinkNeedsATargetAndAReason) {
  import_ada();
  import("lead", "Id,Email,IsConverted\n00QA,lee@example.com,false\n");
  send({"ada@example.com"});
  const std::string gift = std::to_string(sent_[0].value);
  const auto link = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"gift", "link", gift});
    return cli_.run(more);
  };
  const auto early = link({"--contact", "003A", "--reason", "x"});
  EXPECT_EQ(early.code, 75);
  EXPECT_THAT(early.err, HasSubstr("not matched yet"));
  sync();
  EXPECT_EQ(link({"--reason", "x"}).code, 64);
  EXPECT_EQ(link({"--contact", "003A", "--none", "--reason", "x"}).code, 64);
  EXPECT_THAT(link({"--contact", "003A"}).err, HasSubstr("--reason"));
  const auto unknown = link({"--contact", "003X", "--reason", "x"});
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, HasSubstr("the CRM has no contact 003X"));
  EXPECT_EQ(link({"--lead", "00QX", "--reason", "x"}).code, 65);
  EXPECT_EQ(json({"gift", "list"})[0]["RecipientContactId"], "003A") << "nothing was changed";
  EXPECT_EQ(cli_.run({"gift", "link", "987654", "--none", "--reason", "x"}).code, 65);
}

TEST_F(CliRematch, AManualLinkIsShownBesideTheMatch) {
  import_ada();
  send({"ada@example.com"});
  sync();
  const std::string gift = std::to_string(sent_[0].value);
  EXPECT_TRUE(json({"gift", "show", gift})["match"]["manual_links"].is_null());
  EXPECT_THAT(cli_.run({"gift", "list", "--explain"}).out, Not(HasSubstr("by hand")));
  tests::run_sql(cli_.address(), "UPDATE crm_gift_record SET recipientcontactid = '003B'");
  EXPECT_EQ(json({"gift", "show", gift})["match"]["manual_links"],
            "contact 003B, account 001A, opportunity 006A");
  EXPECT_THAT(
      cli_.run({"gift", "show", gift}).out,
      AllOf(HasSubstr("contact 003A"), HasSubstr("contact 003B, account 001A, opportunity 006A, corrected")));
  EXPECT_THAT(cli_.run({"gift", "list", "--explain"}).out,
              HasSubstr("Links corrected in the CRM to contact 003B"));
}

TEST_F(CliRematch, ADealStageThatGoesWithItsOpportunityIsShown) {
  import_ada();
  send({"ada@example.com"});
  sync();
  ASSERT_EQ(json({"gift", "list"})[0]["Deal_Stage"], "Closing");
  EXPECT_THAT(cli_.run({"rematch", "--gift", "1"}).out, Not(HasSubstr("Deal Stage")));
  import("opportunity", "Id,IsClosed\n006A,true\n");
  EXPECT_THAT(cli_.run({"rematch", "--gift", "1", "--dry-run"}).out,
              AllOf(HasSubstr("would link"), HasSubstr("Deal Stage from \"Closing\" to nothing. ")));
  EXPECT_EQ(json({"gift", "list"})[0]["Deal_Stage"], "Closing") << "a dry run writes nothing";
  const Json done = json({"rematch", "--gift", "1"})["gifts"];
  EXPECT_EQ(done[0]["from"]["opportunity_id"], "006A");
  EXPECT_EQ(done[0]["from"]["deal_stage"], "Closing");
  EXPECT_EQ(done[0]["to"]["opportunity_id"], "006B");
  EXPECT_TRUE(done[0]["to"]["deal_stage"].is_null());
  EXPECT_TRUE(json({"gift", "list"})[0]["Deal_Stage"].is_null());
}

TEST_F(CliRematch, ASkippedGiftIsListedAndItsRecordCreatedAtOnce) {
  cli_.write_settings("matching: { on_no_match: skip }\ntasks: { enabled: true, type: Email }\n");
  send({"ada@example.com"});
  sync();
  EXPECT_EQ(json({"gift", "list"})[0]["has_record"], false);
  ASSERT_THAT(json({"gift", "list", "--skipped"}), SizeIs(1));
  EXPECT_THAT(json({"task", "list"}), IsEmpty());
  import_ada();
  EXPECT_EQ(json({"rematch", "--unmatched", "--dry-run"})["gifts"][0]["outcome"], "created");
  const auto done = cli_.run({"rematch", "--unmatched"});
  EXPECT_THAT(done.err, HasSubstr("1 gift examined: 0 relinked, 1 got a record, 0 unchanged."));
  EXPECT_THAT(cli_.run({"audit", "list", "--action", "rematch"}).out,
              AllOf(HasSubstr("--unmatched"), HasSubstr("1 gift examined")))
      << "CON-8";
  EXPECT_THAT(json({"gift", "list", "--skipped"}), IsEmpty());
  const Json gifts = json({"gift", "list"});
  ASSERT_THAT(gifts, SizeIs(1));
  EXPECT_EQ(gifts[0]["RecipientContactId"], "003A");
  EXPECT_THAT(gifts[0]["RecipientTransactionLink"].get<std::string>(), HasSubstr("http://127.0.0.1:8480/g/"));
  const Json tasks = json({"task", "list"});
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0]["WhoId"], "003A");
  EXPECT_EQ(tasks[0]["Type"], "Email");
  EXPECT_EQ(tasks[0]["Status"], "Not Started");
  EXPECT_EQ(tasks[0]["RecipientTransactionId"], sent_[0].value);
  EXPECT_THAT(tasks[0]["Subject"].get<std::string>(), HasSubstr("Coffee"));
  EXPECT_FALSE(tasks[0]["WhatId"].is_null());
  EXPECT_THAT(cli_.run({"task", "list"}).out, HasSubstr("Not Started"));
}

TEST_F(CliRematch, LostLookupsAreListed) {
  send({"ada@example.com"});
  {
    store::Store store(cli_.address());
    store::CrmSyncState decided{sent_[0], store::CrmSyncStatus::decided, cli_.now, {}, 0, ""};
    decided.decision.contact_id = "003GONE";
    store.sync.insert_decisions(std::span(&decided, 1));
  }
  sync();
  ASSERT_THAT(json({"gift", "list", "--needs-relink"}), SizeIs(1));
  EXPECT_THAT(cli_.run({"gift", "list", "--needs-relink"}).out, HasSubstr("003GONE is not in the CRM"));
  import_ada();
  EXPECT_EQ(json({"rematch", "--unmatched"})["gifts"][0]["to"]["contact_id"], "003A");
  EXPECT_THAT(json({"gift", "list", "--needs-relink"}), IsEmpty());
}

TEST_F(CliRematch, RematchesOneGiftById) {
  send({"ada@example.com"});
  EXPECT_THAT(cli_.run({"rematch", "--gift", "1"}).err, HasSubstr("not matched yet"));
  sync();
  EXPECT_EQ(json({"rematch", "--gift", "1"})["gifts"][0]["outcome"], "unchanged");
  EXPECT_EQ(cli_.run({"rematch", "--gift", "99"}).code, 65);
  EXPECT_EQ(cli_.run({"rematch", "--gift", "99", "--json"}).out, "") << "no incomplete JSON";
  EXPECT_EQ(cli_.run({"rematch"}).code, 64);
  EXPECT_EQ(cli_.run({"rematch", "--gift", "1", "--unmatched"}).code, 64);
}

TEST_F(CliRematch, ConvertedLeads) {
  import("lead", "Id,Email,IsConverted\n00QA,lea@example.com,false\n");
  send({"lea@example.com"});
  sync();
  import_ada();
  EXPECT_THAT(json({"rematch", "--converted"})["gifts"], IsEmpty());
  import("lead", "Id,IsConverted,ConvertedContactId\n00QA,true,003A\n");
  EXPECT_EQ(json({"rematch", "--converted"})["gifts"][0]["to"]["contact_id"], "003A");
  const Json gift = json({"gift", "list"})[0];
  EXPECT_EQ(gift["RecipientContactId"], "003A");
  EXPECT_TRUE(gift["RecipientLeadId"].is_null());
  EXPECT_EQ(gift["Opportunity"], "006A");
}

}  // namespace
}  // namespace giftsync::cli
