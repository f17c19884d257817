// Request records of an org: the claim and other guarded writes, creation, look-ups.
#include "crm/salesforce/records/request_records.h"
#include "platform/dependency_error.h"
#include "tests/salesforce/request_records_fixture.h"

namespace giftsync::salesforce {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SalesforceRequests : public SalesforceRequestsTest {
 protected:
  static Update sent_of(const Record& record) {
    Update update{record};
    update.status = RequestRecordStatus::sent;
    update.claimed = false;
    return update;
  }
};

// REQ-21, REQ-56
TEST_F(SalesforceRequests, OneOfTwoClaimersGetsTheRecord) {
  const auto other = make_crm();
  for (int round = 0; round < 10; ++round) {
    const std::string id = add();
    const Update mine = claim_of(read(id));
    const Update theirs = claim_of(read(*other, id));
    const bool is_mine_first = round % 2 == 0;
    const RowResult first = is_mine_first ? write_one(mine) : write_one(*other, theirs);
    const RowResult second = is_mine_first ? write_one(*other, theirs) : write_one(mine);
    EXPECT_EQ(first.kind, Kind::updated) << first.reason;
    EXPECT_EQ(second.kind, Kind::unchanged) << second.reason;
    EXPECT_EQ(cell(id, "claimed"), "1");
  }
}

// REQ-56
TEST_F(SalesforceRequests, AnEditBetweenTheReadAndTheClaimKeepsTheRecordUnclaimed) {
  const std::string id = add();
  for (const Json& change : {Json{{"Message__c", "Another one"}}, Json{{"Request_Status__c", "Rejected"}}}) {
    const Record record = read(id);
    EXPECT_EQ(edit(id, change), "");
    EXPECT_EQ(write_one(claim_of(record)).kind, Kind::unchanged);
    EXPECT_EQ(cell(id, "claimed"), "0");
    pass(3000);
  }
}

// REQ-56
TEST_F(SalesforceRequests, ARecordThatWasEditedJustNowIsClaimedLaterWithoutACall) {
  const std::string id = add();
  edit(id, {{"Message__c", "Hi"}});
  Record record = read(id);
  const int before = calls();
  EXPECT_EQ(write_one(claim_of(record)).kind, Kind::retry);
  EXPECT_EQ(calls(), before);
  pass(3000);
  EXPECT_EQ(write_one(claim_of(record)).kind, Kind::retry) << "it may have been edited since the read";
  EXPECT_EQ(write_one(claim_of(read(id))).kind, Kind::updated);
}

TEST_F(SalesforceRequests, OnlyApprovedRecordsAreClaimed) {
  const std::string id = add({{"Request_Status__c", "Pending"}});
  EXPECT_EQ(write_one(claim_of(read(id))).kind, Kind::unchanged);
  EXPECT_EQ(cell(id, "claimed"), "0");
}

// REQ-56
TEST_F(SalesforceRequests, AClaimWhoseAnswerWasLostIsFoundByItsMarkAndNotSentAgain) {
  const std::string written = add();
  const std::string unwritten = add();
  const Record first = read(written);
  fault({{"kind", "cut"}, {"when", "after_commit"}, {"path", "/composite"}});
  const int before = calls();
  EXPECT_EQ(write_one(claim_of(first)).kind, Kind::updated);
  EXPECT_EQ(calls(), before + 2) << "the write and a query";
  const Record second = read(unwritten);
  fault({{"kind", "cut"}, {"when", "before_commit"}, {"path", "/composite"}});
  EXPECT_EQ(write_one(claim_of(second)).kind, Kind::unchanged);
  EXPECT_EQ(cell(written, "claimed"), "1");
  EXPECT_EQ(cell(unwritten, "claimed"), "0");
  EXPECT_EQ(write_one(claim_of(read(unwritten))).kind, Kind::updated);
}

TEST_F(SalesforceRequests, ALostAnswerDoesNotMakeAnotherDaemonsClaimOurs) {
  const auto other = make_crm();
  const std::string id = add();
  const Update mine = claim_of(read(id));
  EXPECT_EQ(write_one(*other, claim_of(read(*other, id))).kind, Kind::updated);
  fault({{"kind", "cut"}, {"when", "after_commit"}, {"path", "/composite"}});
  EXPECT_EQ(write_one(mine).kind, Kind::unchanged);
}

TEST_F(SalesforceRequests, AClaimedRecordBecomesSentWithoutAnotherQuestion) {
  const std::string id = add();
  const Record record = read(id);
  const int before = calls();
  EXPECT_EQ(write_one(claim_of(record)).kind, Kind::updated);
  EXPECT_THAT(edit(id, {{"Request_Status__c", "Rejected"}}), HasSubstr("is sending this gift"));
  Record claimed = record;
  claimed.claimed = true;
  const RowResult sent = write_one(sent_of(claimed));
  EXPECT_EQ(sent.kind, Kind::updated) << sent.reason;
  EXPECT_EQ(calls(), before + 2);
  EXPECT_EQ(cell(id, "request_status || claimed"), "Sent0");
}

TEST_F(SalesforceRequests, AnEditRightAfterAWriteStopsTheNextOne) {
  const std::string id = add();
  Update log{read(id)};
  fault({{"kind", "interleave"},
         {"part", 1},
         {"user", "person@example.com"},
         {"method", "PATCH"},
         {"url", "/services/data/v62.0/sobjects/Request_Record__c/" + id},
         {"body", {{"Message__c", "Another one"}}}});
  log.error_log = "No such gift.";
  EXPECT_EQ(write_one(log).kind, Kind::updated);
  const int before = calls();
  Record logged = log.expected;
  logged.set(F::error_log, std::string("No such gift."));
  EXPECT_EQ(write_one(claim_of(logged)).kind, Kind::retry);
  EXPECT_EQ(calls(), before);
  pass(3000);
  EXPECT_EQ(read(id).text(F::message), "Another one");
  EXPECT_EQ(cell(id, "error_log"), "No such gift.");
}

// REQ-56
TEST_F(SalesforceRequests, AWriteOfAnotherThreadIsNotOverwrittenByOneThatDidNotSeeIt) {
  const std::string id = add({{"Request_Status__c", "Pending"}});
  const Record record = read(id);
  Update approval{record};
  approval.status = RequestRecordStatus::approved;
  EXPECT_EQ(write_one(approval).kind, Kind::updated);
  Update rejection{record};
  rejection.status = RequestRecordStatus::rejected;
  EXPECT_EQ(write_one(rejection).kind, Kind::retry);
  EXPECT_EQ(cell(id, "request_status"), "Approved");
}

TEST_F(SalesforceRequests, ADecisionAboutARecordThatWasEditedJustNowWaits) {
  const std::string id = add({{"Request_Status__c", "Pending"}});
  edit(id, {{"Message__c", "Hi"}});
  Update approval{read(id)};
  approval.status = RequestRecordStatus::approved;
  EXPECT_EQ(write_one(approval).kind, Kind::retry);
  Update log{approval.expected};
  log.error_log = "No such gift.";
  EXPECT_EQ(write_one(log).kind, Kind::updated) << "it decides nothing";
}

TEST_F(SalesforceRequests, ABatchHasEachRowsOwnOutcome) {
  const std::string good = add();
  const std::string changed = add();
  const std::string gone = add();
  const std::string locked = add();
  const std::string refused = add({{"Gift_Id__c", "8"}});
  std::vector<Update> updates;
  for (const std::string& id : {good, changed, gone, locked, refused}) {
    updates.push_back({read(id)});
    updates.back().error_log = "No such gift.";
  }
  edit(changed, {{"Message__c", "Hi"}});
  remove(gone);
  fault({{"kind", "lock"}, {"ids", {locked}}});
  fault({{"kind", "rule"},
         {"object", "Request_Record__c"},
         {"formula", "Gift_Id__c = \"8\""},
         {"message", "Not this gift."},
         {"times", 0}});
  const auto results = requests().update(updates);
  EXPECT_THAT(kinds_of(results),
              ElementsAre(Kind::updated, Kind::unchanged, Kind::not_found, Kind::retry, Kind::rejected));
  EXPECT_THAT(results[4].reason, HasSubstr("Not this gift."));
}

TEST_F(SalesforceRequests, ManyRecordsAreWrittenInOneCall) {
  std::vector<std::string> ids;
  for (int i = 0; i < 450; ++i) ids.push_back(add());
  std::vector<Update> updates;
  for (const Record& record : requests().find(ids)) updates.push_back(claim_of(record));
  ASSERT_THAT(updates, SizeIs(450));
  const int before = calls();
  EXPECT_THAT(kinds_of(requests().update(updates)), testing::Each(Kind::updated));
  EXPECT_EQ(calls(), before + 1);
}

// REQ-31
TEST_F(SalesforceRequests, StatusAndErrorLogAreWrittenBack) {
  const std::string id = add({{"Request_Status__c", "Pending"}});
  Update update{read(id)};
  update.status = RequestRecordStatus::approved;
  update.error_log = std::string(300, 'x');
  update.item_link = "https://example.com/items/7";
  update.auto_approved = true;
  EXPECT_EQ(write_one(update).kind, Kind::updated);
  const Record now = read(id);
  EXPECT_EQ(now.text(F::status), "Approved");
  EXPECT_EQ(now.text(F::error_log), std::string(255, 'x'));
  EXPECT_EQ(now.text(F::item_link), "https://example.com/items/7");
  EXPECT_EQ(now.checkbox(F::auto_approved), true);
  EXPECT_EQ(now.text(F::last_modified_by), user_);
  EXPECT_EQ(now.text(F::created_by), person_);
}

// ORG-21
TEST_F(SalesforceRequests, ATextThatReadsAsAReferenceIsWrittenAsItIs) {
  const std::string id = add();
  const std::string other = add();
  Update log{read(id)};
  log.error_log = "Message contains \"@{name}\".";
  Update plain{read(other)};
  plain.error_log = "No such gift.";
  const std::vector<Update> updates{log, plain};
  const int before = calls();
  for (const RowResult& result : requests().update(updates))
    EXPECT_EQ(result.kind, Kind::updated) << result.reason;
  EXPECT_EQ(calls(), before + 2) << "the other row, and this one";
  EXPECT_EQ(cell(id, "error_log"), *log.error_log);
  EXPECT_EQ(cell(other, "error_log"), *plain.error_log);
  Update again{log.expected};
  again.expected.set(F::error_log, *log.error_log);
  again.error_log = "No such gift.";
  EXPECT_EQ(write_one(again).kind, Kind::retry) << "it is read again first";
  again.expected = read(id);
  EXPECT_EQ(write_one(again).kind, Kind::updated);
  crm::NewRequestRecord made{"key", {}};
  made.record.set(F::gift_id, std::string("7"));
  made.record.set(F::message, std::string("Hello @{name}"));
  EXPECT_EQ(requests().create(std::span(&made, 1)).front().text(F::message), "Hello @{name}");
}

// REQ-42
TEST_F(SalesforceRequests, ARecordIsCreatedOncePerKey) {
  crm::NewRequestRecord made{"key", {}};
  made.record.set(F::gift_id, std::string("7"));
  made.record.set(F::message, std::string("Hello"));
  made.record.set(F::created_by, std::string("005000000000001AAA"));
  const auto create = [&] { return requests().create(std::span(&made, 1)).front(); };
  fault({{"kind", "cut"}, {"when", "after_commit"}, {"path", "/composite"}});
  const Record first = create();
  made.record.set(F::message, std::string("Another one"));
  const Record again = create();
  EXPECT_EQ(first.id, again.id);
  EXPECT_EQ(again.text(F::message), "Hello");
  EXPECT_EQ(again.text(F::status), "Pending");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_request_record"), "1");
  EXPECT_THAT(first.text(F::number), HasSubstr("R-"));
  EXPECT_THAT(taken(), ElementsAre(first.id)) << "without a wait for the poll";
}

TEST_F(SalesforceRequests, ARecordThatTheOrgRefusesIsNotCreated) {
  crm::NewRequestRecord bad{"key", {}};
  bad.record.set(F::recipient_email, std::string("no address"));
  try {
    requests().create(std::span(&bad, 1));
    FAIL() << "it was created";
  } catch (const giftsync::DependencyError& error) {
    EXPECT_FALSE(error.transient());
    EXPECT_THAT(error.what(), AllOf(HasSubstr("INVALID_EMAIL_ADDRESS"), HasSubstr("no address")));
  }
}

TEST_F(SalesforceRequests, ARecordIsFoundByNumberOrId) {
  const std::string id = add();
  add();
  const std::string number = read(id).text(F::number);
  EXPECT_EQ(requests().find_one(number)->id, id);
  EXPECT_EQ(requests().find_one(id)->id, id);
  EXPECT_EQ(requests().find_one(id.substr(0, 15))->id, id);
  for (const char* unknown : {"R-99999999", "", "it's", "abcdefghijklmno", "a0X000000000001QQQ"})
    EXPECT_FALSE(requests().find_one(unknown)) << unknown;
}

TEST_F(SalesforceRequests, RecordsAreListedByNumberAndStatus) {
  const std::string first = add({{"Request_Status__c", ""}});
  const std::string second = add();
  const std::string third = add({{"Request_Status__c", "Pending"}});
  const auto ids = [&](const std::string& after, std::optional<RequestRecordStatus> status) {
    std::vector<std::string> found;
    for (const Record& record : requests().page(after, status, 2)) found.push_back(record.id);
    return found;
  };
  EXPECT_THAT(ids("", std::nullopt), ElementsAre(first, second));
  EXPECT_THAT(ids(read(second).text(F::number), std::nullopt), ElementsAre(third));
  EXPECT_THAT(ids("", RequestRecordStatus::pending), ElementsAre(first, third));
}

TEST_F(SalesforceRequests, PeopleAndOpportunitiesAreFoundById) {
  const std::string rose = contact("rose@example.com");
  const std::string deal = insert("crm_opportunity", "name, stagename, isclosed", "'Deal', 'Closed Won', 1");
  const std::vector<std::string> ids{rose, "no id", "0030000000000zzAAA"};
  const auto people = requests().find_persons(crm::PersonObject::contact, ids);
  ASSERT_THAT(people, SizeIs(1));
  EXPECT_EQ(people[0].id, rose);
  EXPECT_EQ(people[0].email, "rose@example.com");
  EXPECT_EQ(people[0].last_name, "Lima");
  EXPECT_THAT(requests().find_persons(crm::PersonObject::lead, ids), IsEmpty());
  const auto deals = requests().find_opportunities(std::span(&deal, 1));
  ASSERT_THAT(deals, SizeIs(1));
  EXPECT_EQ(deals[0].stage, "Closed Won");
}

TEST_F(SalesforceRequests, AnOrgWithoutThePackageHasNone) {
  SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
  EXPECT_EQ(make_salesforce_crm(client_, std::move(options))->request_records(), nullptr);
}

}  // namespace
}  // namespace giftsync::salesforce
