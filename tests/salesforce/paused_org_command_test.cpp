// What commands say and show of an org that is not called, or that does not answer.
#include <span>

#include "crm/salesforce/calls/call_governor.h"
#include "crm/salesforce/org/write_mode.h"
#include "daemon/wiring/org_status.h"
#include "tests/salesforce/org_command_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kClosedPort = "http://127.0.0.1:9";

class PausedOrgCommandTest : public OrgCommandTest {
 protected:
  PausedOrgCommandTest() { cli_.now = system_now(); }  // that of the governor
  std::string send_gift() { return std::to_string(cli_.send_gifts({"pat@example.com"}).front().value); }
  Json status() { return tests::parse_json(cli_.run({"status", "--json"}).out); }
  std::vector<std::string> attention() {
    std::vector<std::string> items;
    const Json now = status();
    for (const Json& one : now["needs_attention"])
      items.push_back(one["what"].get<std::string>() + "; next: " + one["next_step"].get<std::string>());
    return items;
  }
};

// OPS-35
TEST_F(PausedOrgCommandTest, AGiftIsShownWithoutTheCrmsPart) {
  const std::string gift = send_gift();
  refuse_for_the_quota();
  const auto shown = cli_.run({"gift", "show", gift});
  EXPECT_EQ(shown.code, 69);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("Gift " + gift + ": sent"), HasSubstr("in the CRM"),
                               HasSubstr("REQUEST_LIMIT_EXCEEDED"), HasSubstr("History")));
  EXPECT_THAT(shown.err, HasSubstr("REQUEST_LIMIT_EXCEEDED"));
  // The org rests now: no call is made, and the answer is the same.
  const int before = calls();
  const auto data = cli_.run({"gift", "show", gift, "--json"});
  EXPECT_EQ(data.code, 69);
  EXPECT_EQ(calls(), before);
  const Json json = tests::parse_json(data.out);
  EXPECT_EQ(json["record"], nullptr);
  EXPECT_THAT(json["record_fault"].get<std::string>(), HasSubstr("Salesforce is not called before"));
  EXPECT_EQ(json["status"], "sent");
  EXPECT_NE(cli_.run({"gift", "show", gift, "--mail"}).code, 69) << "the mail needs no CRM";
}

// OPS-35
TEST_F(PausedOrgCommandTest, AGiftOfAnOrgThatAnswersHasNoFault) {
  const auto data = cli_.run({"gift", "show", send_gift(), "--json"});
  EXPECT_EQ(data.code, 0) << data.err;
  EXPECT_EQ(tests::parse_json(data.out)["record_fault"], nullptr);
}

TEST_F(PausedOrgCommandTest, OnlyWhereNothingAnswersTheAddressIsToBeChecked) {
  const std::string gift = send_gift();
  write_settings_for(kClosedPort);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"crm", "check"}, {"gift", "show", gift}}) {
    const auto result = cli_.run(command);
    EXPECT_EQ(result.code, 69);
    EXPECT_THAT(result.err, HasSubstr("check the network, and that crm.salesforce.domain in "));
  }
  write_settings("");
  refuse_for_the_quota();
  for (int i = 0; i < 2; ++i) {
    const auto refused = cli_.run({"gift", "show", gift});
    EXPECT_THAT(refused.err, AllOf(HasSubstr("or buy calls; then run giftsyncctl crm retry --all"),
                                   Not(HasSubstr("leads to the org"))))
        << i;
  }
  end_faults();
  server_.with_org([](Org& org) { org.set("client_secret", "another"); });
  store::Store(cli_.address()).set_metadata(salesforce::kTokenFact, "");
  const auto refused = cli_.run({"crm", "check"});
  EXPECT_THAT(refused.err, AllOf(HasSubstr("refuses the sign-in"), Not(HasSubstr("leads to the org"))));
}

// OPS-27
TEST_F(PausedOrgCommandTest, AUsedUpQuotaNeedsAttention) {
  EXPECT_THAT(attention(), Not(testing::Contains(HasSubstr("the CRM is paused"))));
  const std::string gift = send_gift();
  refuse_for_the_quota();
  cli_.run({"gift", "show", gift});
  EXPECT_THAT(attention(), testing::Contains(AllOf(HasSubstr("the CRM is paused: no call before "),
                                                   HasSubstr("REQUEST_LIMIT_EXCEEDED"),
                                                   HasSubstr("next: find what uses the org's calls"))));
  end_faults();
  cli_.run({"crm", "retry", "--all"});
  EXPECT_THAT(attention(), Not(testing::Contains(HasSubstr("the CRM is paused"))));
}

// OPS-27, ORG-18
TEST_F(PausedOrgCommandTest, WhatOnlyAnAdminCanMendNeedsAttention) {
  using namespace salesforce;
  store::Store store(cli_.address());
  CallGovernor governor({});
  governor.refuse_until(cli_.now + kHourMillis, "Salesforce refuses the call (INVALID_TYPE: Task)",
                        CallPurpose::tasks);
  store.set_metadata(kGovernorFact, governor.to_text());
  EXPECT_THAT(attention(), testing::Contains(AllOf(HasSubstr("tasks wait until "), HasSubstr("INVALID_TYPE"),
                                                   HasSubstr("crm retry --all"))));
  EXPECT_EQ(status()["salesforce"]["calls"]["refusals"][0]["what"], "tasks");
  EXPECT_EQ(status()["salesforce"]["calls"]["resting_until"], nullptr);
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("REFUSED until "));
  cli_.run({"crm", "retry", "--all"});
  EXPECT_THAT(attention(), Not(testing::Contains(HasSubstr("tasks wait until "))));
  const std::string gift = send_gift();
  refuse_calls("API_DISABLED_FOR_ORG", "API is not enabled");
  EXPECT_EQ(cli_.run({"gift", "show", gift}).code, 69);
  EXPECT_THAT(attention(),
              testing::Contains(AllOf(HasSubstr("the CRM is paused: no call before "),
                                      HasSubstr("API_DISABLED_FOR_ORG"), HasSubstr("next: mend that"))));
  end_faults();
  cli_.run({"crm", "check"});
  EXPECT_THAT(attention(), Not(testing::Contains(HasSubstr("the CRM is paused"))));
}

// CON-8
TEST_F(PausedOrgCommandTest, TheEventOfARetrySaysWhatItsNumberCounts) {
  send_gift();
  store::Store store(cli_.address());
  const auto last_detail = [&] {
    return store.audit.list(store::Viewer::of_command_line(), {.action = "crm.retry"}, 1).at(0).detail;
  };
  tests::run_sql(cli_.address(),
                 "UPDATE crm_outbox SET next_attempt_at = " + std::to_string(cli_.now.value + kHourMillis));
  cli_.run({"crm", "retry", "--all"});
  EXPECT_EQ(last_detail(), "the org is asked again, records: 1");
  cli_.run({"crm", "retry", "--all"});
  EXPECT_EQ(last_detail(), "the org is asked again") << "no record rested";
}

TEST_F(PausedOrgCommandTest, RefusedRecordsAreListedWithTheirReasonWithoutACall) {
  EXPECT_THAT(cli_.run({"gift", "list", "--refused"}).err, HasSubstr("The CRM refuses no gift record."));
  store::CrmSyncState state;
  state.transaction = cli_.send_gifts({"pat@example.com"}).front();
  state.state = store::CrmSyncStatus::rejected;
  state.decided_at = cli_.now;
  state.error = "Salesforce: REQUIRED_FIELD_MISSING: Region";
  store::Store(cli_.address()).sync.insert_decisions(std::span(&state, 1));
  const int before = calls();
  const auto listed = cli_.run({"gift", "list", "--refused"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, AllOf(HasSubstr("pat@example.com"), HasSubstr("REQUIRED_FIELD_MISSING: Region")));
  const Json json = tests::parse_json(cli_.run({"gift", "list", "--refused", "--json"}).out);
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["refusal"], "Salesforce: REQUIRED_FIELD_MISSING: Region");
  EXPECT_EQ(calls(), before);
  EXPECT_EQ(cli_.run({"gift", "list", "--refused", "--skipped"}).code, 64);
}

// OPS-27, ORG-8
TEST_F(PausedOrgCommandTest, AMissingRuleNeedsAttentionUntilACheckFindsIt) {
  sql("UPDATE crm_validation_rule SET active = 0 WHERE validationname = 'Only_Newer'");
  cli_.run({"crm", "check"});
  EXPECT_THAT(attention(), testing::Contains(AllOf(HasSubstr("the CRM is paused: no gift record is written"),
                                                   HasSubstr("Only_Newer"), HasSubstr("crm retry --all"))));
  EXPECT_THAT(status()["salesforce"]["write_obstacle"].get<std::string>(), HasSubstr("Only_Newer"));
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("NO WRITES: "));
  sql("UPDATE crm_validation_rule SET active = 1 WHERE validationname = 'Only_Newer'");
  cli_.run({"crm", "check"});
  EXPECT_THAT(attention(), Not(testing::Contains(HasSubstr("the CRM is paused"))));
  EXPECT_EQ(status()["salesforce"]["write_obstacle"], nullptr);
}

// ORG-13
TEST_F(PausedOrgCommandTest, ARetryHasAMissingRuleLookedForBeforeTheNextWrite) {
  using namespace salesforce;
  store::Store store(cli_.address());
  const auto is_looked_for = [&] {
    const auto finding = read_mode_finding(store.metadata(kModeFact).value_or(""));
    return is_due(OrgMode::guarded, finding, ApiNames(OrgNames{}), system_now());
  };
  cli_.run({"crm", "check"});
  cli_.run({"crm", "retry", "--all"});
  EXPECT_FALSE(is_looked_for()) << "nothing is missing, so no call is spent";
  sql("UPDATE crm_validation_rule SET active = 0 WHERE validationname = 'Only_Newer'");
  cli_.run({"crm", "check"});
  EXPECT_FALSE(is_looked_for());
  EXPECT_THAT(attention(), testing::Contains(AllOf(HasSubstr("Only_Newer"), HasSubstr("next: giftsyncctl"),
                                                   HasSubstr("crm retry --all, once that is done"))));
  cli_.run({"crm", "retry", "--all"});
  EXPECT_TRUE(is_looked_for());
  EXPECT_THAT(attention(), testing::Contains(HasSubstr("Only_Newer"))) << "until it is found";
}

// OPS-27
TEST(OrgPauses, EachHasItsReasonAndTheOnesOfAnAdminANextStep) {
  constexpr UtcMillis kTime{1'795'264'267'000};
  const auto pauses_of = [](const wiring::OrgStatus& status) {
    return wiring::org_pauses(status, "giftsyncctl ");
  };
  EXPECT_TRUE(pauses_of({}).empty());
  const auto maintenance = pauses_of({.paused_until = kTime, .pause_reason = "maintenance"});
  ASSERT_EQ(maintenance.size(), 1U);
  EXPECT_EQ(maintenance[0].detail, "paused: no call before 2026-11-21T12:31:07.000Z: maintenance");
  EXPECT_EQ(maintenance[0].next_step, "") << "it passes by itself";
  const auto share =
      pauses_of({.share_free_at = kTime, .share_reason = "used", .share_next_step = "raise it"});
  ASSERT_EQ(share.size(), 1U);
  EXPECT_THAT(share[0].summary, AllOf(HasSubstr("request records, tasks and backfills wait until 2026-11-21"),
                                      Not(HasSubstr("the CRM is paused"))));
  EXPECT_EQ(share[0].next_step, "raise it");
}

}  // namespace
}  // namespace giftsync::cli
