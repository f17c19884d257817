// Change events of an org's request records.
#include "crm/salesforce/records/outbound_message.h"
#include "crm/salesforce/records/request_poll.h"
#include "platform/dependency_error.h"
#include "tests/salesforce/request_records_fixture.h"

namespace giftsync::salesforce {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::int64_t kPause = 5 * kMinuteMillis;

class SalesforceRequestPoll : public SalesforceRequestsTest {};

// REQ-55
TEST_F(SalesforceRequestPoll, NewChangedAndDeletedRecordsAreReportedOnce) {
  const std::string one = add();
  const std::string other = add();
  EXPECT_THAT(taken(), UnorderedElementsAre(one, other));
  pass(kPause);
  EXPECT_THAT(taken(), IsEmpty());
  edit(other, {{"Message__c", "Hi"}});
  pass(kPause);
  EXPECT_THAT(taken(), ElementsAre(other));
  remove(one);
  pass(kPause);
  EXPECT_THAT(taken(), ElementsAre(one));
  EXPECT_THAT(requests().find(std::vector{one}), IsEmpty());
}

TEST_F(SalesforceRequestPoll, NoCallIsMadeBeforeItIsTime) {
  add();
  taken();
  const int before = calls();
  for (int i = 0; i < 100; ++i) taken();
  EXPECT_EQ(calls(), before);
  pass(kPause);
  taken();
  EXPECT_EQ(calls(), before + 1) << "one call for a poll";
}

// REQ-55
TEST_F(SalesforceRequestPoll, APollThatTheOrgRefusesIsMadeRarely) {
  taken();
  pass(kPause);
  const auto calls_while_refused = [&](const std::string& code) {
    fault({{"kind", "answer"},
           {"status", 400},
           {"content_type", "application/json"},
           {"body", R"([{"errorCode":")" + code + R"(","message":"refused"}])"},
           {"path", "/composite"},
           {"times", 0}});
    const int before = calls();
    for (std::int64_t passed = 0; passed < 4 * kHourMillis; passed += 15 * kSecondMillis) {
      try {
        taken();
      } catch (const giftsync::DependencyError&) {
      }
      pass(15 * kSecondMillis);
    }
    server_.with_org([](Org& org) { org.faults().clear(); });
    return calls() - before;
  };
  const int passing = calls_while_refused("SERVER_UNAVAILABLE");
  EXPECT_LE(passing, 4 * 4 + 8);
  EXPECT_GE(passing, 4 * 4 - 2);
  const int lasting = calls_while_refused("INVALID_FIELD");
  EXPECT_LE(lasting, 4 + 1) << "only an admin can mend it";
  EXPECT_GE(lasting, 4 - 1);
}

TEST_F(SalesforceRequestPoll, AnEventStaysUntilItIsAcknowledged) {
  const std::string id = add();
  const auto first = requests().events(10);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_THAT(requests().events(10), SizeIs(1));
  edit(id, {{"Message__c", "Hi"}});
  pass(kPause);
  requests().events(10);
  requests().acknowledge(std::vector{first[0].id});
  EXPECT_THAT(taken(), ElementsAre(id)) << "the edit came after the first event";
}

// REQ-55
TEST_F(SalesforceRequestPoll, TheCursorSurvivesARestart) {
  const std::string old = add();
  pass(2 * kPause);
  const std::string acknowledged = add();
  EXPECT_THAT(taken(), UnorderedElementsAre(old, acknowledged));
  pass(kPause);
  const std::string fresh = add();
  pass(kPause);
  EXPECT_THAT(requests().events(10), SizeIs(1));
  crm_ = make_crm();
  EXPECT_THAT(taken(), UnorderedElementsAre(acknowledged, fresh))
      << "what was not acknowledged, and what lies in the overlap";
  crm_ = make_crm();
  EXPECT_THAT(taken(), IsEmpty()) << "the cursor moved on";
}

// REQ-55
TEST_F(SalesforceRequestPoll, ALateCommitWithinTheOverlapIsFound) {
  add();
  taken();
  const std::string stamp = scalar("SELECT max(systemmodstamp) FROM crm_request_record");
  sql("INSERT INTO crm_request_record (id, systemmodstamp) VALUES ('a0Xlate00000000EAA', strftime("
      "'%Y-%m-%dT%H:%M:%S.000Z', '" +
      stamp + "', '-280 seconds'))");
  sql("UPDATE crm_request_record SET systemmodstamp = strftime('%Y-%m-%dT%H:%M:%S.000Z', '" + stamp +
      "', '-280 seconds') WHERE id = 'a0Xlate00000000EAA'");
  pass(kPause);
  EXPECT_THAT(taken(), ElementsAre("a0Xlate00000000EAA"));
}

TEST_F(SalesforceRequestPoll, AnEditWithinTheSameSecondIsFound) {
  const std::string id = add();
  taken();
  const std::string stamp = cell(id, "systemmodstamp");
  sql("UPDATE crm_request_record SET message = 'Hi' WHERE id = '" + id + "'");
  sql("UPDATE crm_request_record SET systemmodstamp = '" + stamp + "' WHERE id = '" + id + "'");
  ASSERT_EQ(cell(id, "systemmodstamp"), stamp);
  pass(kPause);
  EXPECT_THAT(taken(), ElementsAre(id));
}

TEST_F(SalesforceRequestPoll, OpenRecordsAreReportedWhenTheyAreWanted) {
  const std::string open = add({{"Request_Status__c", "Pending"}});
  add({{"Request_Status__c", "Rejected"}});
  taken();
  pass(4 * kPause);
  const std::string recent = add();
  pass(kPause);
  taken();
  crm_ = make_crm();
  const int before = calls();
  requests().enqueue_open();
  EXPECT_THAT(taken(), UnorderedElementsAre(open, recent));
  EXPECT_EQ(calls(), before + 2) << "the poll, and the first one's query about the object";
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(SalesforceRequestPoll, WithoutACursorTheOpenRecordsAreReported) {
  const std::string open = add();
  pass(4 * kPause);
  EXPECT_THAT(taken(), ElementsAre(open));
}

// REQ-58
TEST_F(SalesforceRequestPoll, AnOlderPackageWithoutTheCampaignIsReadWithoutIt) {
  const std::string id = add({{"Utm_Campaign_Id__c", "autumn"}});
  server_.with_org([](Org& org) { org.set("hidden_fields", "Request_Record__c.Utm_Campaign_Id__c"); });
  EXPECT_THAT(taken(), ElementsAre(id));
  EXPECT_EQ(read(id).text(F::utm_campaign_id), "");
  EXPECT_EQ(facts_[kRequestCampaignFact], kNoCampaign);
  crm_ = make_crm();
  EXPECT_EQ(read(id).text(F::utm_campaign_id), "") << "another process, which has not polled";
  facts_.erase(kRequestCampaignFact);
  crm_ = make_crm();
  EXPECT_EQ(read(id).text(F::utm_campaign_id), "") << "nor has any process";
  EXPECT_EQ(facts_[kRequestCampaignFact], kNoCampaign);
  server_.with_org([](Org& org) { org.set("hidden_fields", ""); });
  crm_ = make_crm();
  taken();
  EXPECT_EQ(read(id).text(F::utm_campaign_id), "autumn");
}

// MSG-6
TEST_F(SalesforceRequestPoll, AStartStoresWhatTheOrgCallsTheObject) {
  taken();
  const std::string prefix = add().substr(0, 3);
  EXPECT_EQ(facts_[kRequestObjectFact], prefix + " Request_Record__c");
  facts_[kRequestObjectFact] = "a99 Request_Record__c";
  pass(kPause);
  taken();
  EXPECT_EQ(facts_[kRequestObjectFact], "a99 Request_Record__c") << "asked once";
  crm_ = make_crm();
  taken();
  EXPECT_EQ(facts_[kRequestObjectFact], prefix + " Request_Record__c");
}

// MSG-6
TEST_F(SalesforceRequestPoll, AnObjectThatTheUserDoesNotSeeIsNotAskedFor) {
  server_.with_org([](Org& org) {
    org.change(
        {{"permission_set", "giftsync_Integration"}, {"object", "Request_Record__c"}, {"readable", false}});
  });
  EXPECT_THROW(requests().events(10), giftsync::DependencyError);
  EXPECT_EQ(calls(), 1);
  EXPECT_FALSE(facts_.contains(kRequestObjectFact));
}

// ORG-4
TEST_F(SalesforceRequestPoll, AnotherOrgHasItsOwnCursorAndEvents) {
  const std::string open = add();
  pass(4 * kPause);
  const std::string recent = add();
  EXPECT_THAT(taken(), UnorderedElementsAre(open, recent));
  pass(4 * kPause);
  EXPECT_THAT(taken(), IsEmpty());
  add();
  facts_[kOrganizationFact] = "00Dother0000000AAA";
  facts_.erase(kRequestObjectFact);
  facts_.erase(kRequestCursorFact);
  pass(kPause);
  EXPECT_THAT(taken(), SizeIs(3)) << "its open records";
  EXPECT_TRUE(facts_.contains(kRequestObjectFact));
  EXPECT_TRUE(facts_.contains(kRequestCursorFact));
}

TEST_F(SalesforceRequestPoll, AFailedPollIsMadeAgain) {
  const std::string id = add();
  fault({{"kind", "cut"}, {"when", "before_commit"}, {"path", "/composite"}});
  EXPECT_THROW(requests().events(10), giftsync::DependencyError);
  EXPECT_THAT(requests().events(10), IsEmpty()) << "not at once";
  pass(kPause);
  EXPECT_THAT(taken(), ElementsAre(id));
}

TEST_F(SalesforceRequestPoll, PushedEventsAreListedAndAcknowledgedWhereTheyCameFrom) {
  std::vector<std::int64_t> acknowledged;
  SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
  options.request_records = RequestPollOptions{.facts = facts()};
  options.request_records->is_enabled = false;
  options.request_records->pushed = {
      [](std::size_t) {
        return std::vector<crm::RequestRecordEvent>{{7, "a0Xpushed000000EAA"}};
      },
      [&](std::span<const std::int64_t> ids) { acknowledged.assign(ids.begin(), ids.end()); }};
  crm_ = make_salesforce_crm(client_, std::move(options));
  add();
  EXPECT_THAT(taken(), ElementsAre("a0Xpushed000000EAA"));
  EXPECT_THAT(acknowledged, ElementsAre(7));
  EXPECT_EQ(calls(), 0) << "a poll that is off makes no call";
}

// REQ-55
TEST_F(SalesforceRequestPoll, ACreatedRecordIsAnEventForAllDaemons) {
  std::vector<std::string> added;
  bool is_full = false;
  SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
  options.request_records = RequestPollOptions{.facts = facts()};
  options.request_records->pushed.add = [&](std::span<const std::string> ids) {
    if (is_full) throw giftsync::DependencyError(true, "the store is away");
    added.assign(ids.begin(), ids.end());
  };
  crm_ = make_salesforce_crm(client_, std::move(options));
  Record record;
  record.set(F::message, std::string("Hello"));
  record.set(F::gift_id, std::string("7"));
  const std::vector<crm::NewRequestRecord> rows{{"b", record}, {"a", record}};
  const std::vector<Record> created = requests().create(rows);
  ASSERT_EQ(created.size(), 2U);
  std::vector<std::string> ids{created[0].id, created[1].id};
  std::ranges::sort(ids);
  EXPECT_EQ(added, ids);
  added.clear();
  EXPECT_EQ(requests().create(rows).size(), 2U);
  EXPECT_EQ(added, ids) << "a repeated call makes no second record";
  is_full = true;
  EXPECT_EQ(requests().create(rows).size(), 2U) << "an error would look as if they had not been created";
}

}  // namespace
}  // namespace giftsync::salesforce
