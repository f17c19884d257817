// The request record step over an org: approved once, claimed once, sent once.
#include "platform/dependency_error.h"
#include "sync/request/request_record_approval.h"
#include "sync/request/request_record_step.h"
#include "tests/salesforce/request_records_fixture.h"
#include "tests/support/temporary_store.h"

namespace giftsync::salesforce {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SalesforceRequestStep : public SalesforceRequestsTest {
 protected:
  SalesforceRequestStep() {
    store::GiftItem coffee;
    coffee.id = {7};
    coffee.name = "Coffee";
    coffee.costs = {Money{500}, Money{200}, Money{10}, Money{40}};
    store_->catalogue.import(std::span(&coffee, 1));
    rules_.integration_user = user_;
    rules_.authorize_senders = [](std::span<const std::string> ids) {
      store::Account ana;
      ana.id = {3};
      ana.email = "ana@example.com";
      ana.name = "Ana";
      return std::vector<sync::SenderAuthorization>(ids.size(), sync::SenderAuthorization{ana, {}});
    };
  }

  sync::RequestRecordStepStats step(crm::Crm& crm) {
    return sync::request_record_step(*store_, crm, rules_, now_);
  }
  sync::RequestRecordStepStats step() { return step(*crm_); }
  void wait(std::int64_t millis) {
    pass(millis);
    now_ = now_ + millis;
  }
  /// Steps a minute long, as a daemon makes them.
  void run() {
    for (int i = 0; i < 12; ++i) {
      step();
      wait(5000);
    }
  }
  std::size_t gifts_of(const std::string& id) {
    return store_->request_records.find_gifts_by_record(std::span(&id, 1)).size();
  }
  std::string state(const std::string& id) { return cell(id, "request_status || claimed"); }

  tests::TemporaryStore store_;
  sync::RequestRecordRules rules_;
  UtcMillis now_ = system_now();
};

// REQ-9, REQ-56
TEST_F(SalesforceRequestStep, AnAutoApprovedRequestIsSentSecondsAfterItsApproval) {
  const std::string id = add({{"Request_Status__c", "Pending"}, {"Auto_Approved__c", true}});
  EXPECT_EQ(step().sent, 0U);
  EXPECT_EQ(state(id), "Approved0") << "a claim waits until an edit would show";
  const int before = calls();
  step();
  EXPECT_EQ(calls(), before) << "no call is made until then";
  wait(3000);
  EXPECT_EQ(step().sent, 1U);
  EXPECT_EQ(state(id), "Sent0");
  run();
  EXPECT_EQ(state(id), "Sent0");
  EXPECT_EQ(gifts_of(id), 1U);
  EXPECT_EQ(cell(id, "error_log"), "null");
}

// REQ-11
TEST_F(SalesforceRequestStep, AnApprovalInTheOrgIsSentWithTheApproversName) {
  const std::string id = add();
  run();
  EXPECT_EQ(state(id), "Sent0");
  EXPECT_EQ(gifts_of(id), 1U);
  EXPECT_THAT(store_->request_records.find_transitions(id).front().who, HasSubstr(person_));
}

// REQ-15
TEST_F(SalesforceRequestStep, AnEditBetweenTheApprovalAndTheClaimNeedsANewApproval) {
  const std::string id = add({{"Request_Status__c", "Pending"}});
  step();
  const auto approved = sync::decide_request_record(store_->request_records, requests(), id,
                                                    {sync::RequestRecordAction::approve, "Bo", ""}, now_);
  ASSERT_EQ(approved.kind, sync::ApprovalResult::Kind::done) << approved.reason;
  EXPECT_EQ(state(id), "Approved0");
  EXPECT_EQ(edit(id, {{"Message__c", "Another one"}}), "");
  run();
  EXPECT_EQ(state(id), "Pending0");
  EXPECT_EQ(gifts_of(id), 0U);
  EXPECT_THAT(cell(id, "error_log"), HasSubstr("Changed after approval"));
}

// REQ-57
TEST_F(SalesforceRequestStep, WhatAnApprovedRecordHasAtFirstIsWhatWasApproved) {
  const std::string id = add();
  edit(id, {{"Message__c", "Another one"}});
  run();
  EXPECT_EQ(state(id), "Sent0");
  const std::string other = add({{"Request_Status__c", "Pending"}});
  rules_.auto_approved_default = true;
  run();
  EXPECT_EQ(state(other), "Pending0") << "the field's default in the org is unchecked";
}

// REQ-31
TEST_F(SalesforceRequestStep, AFaultOfTheRecordIsInItsErrorLogUntilItIsCorrected) {
  const std::string id = add({{"Gift_Id__c", "8"}});
  run();
  EXPECT_EQ(state(id), "Approved0");
  EXPECT_THAT(cell(id, "error_log"), HasSubstr("8"));
  edit(id, {{"Gift_Id__c", "7"}, {"Request_Status__c", "Pending"}});
  wait(10'000);
  run();
  edit(id, {{"Request_Status__c", "Approved"}});
  wait(300'000);
  run();
  EXPECT_EQ(state(id), "Sent0");
  EXPECT_EQ(cell(id, "error_log"), "null");
}

// REQ-25
TEST_F(SalesforceRequestStep, TwoDaemonsSendOnce) {
  const auto other = make_crm();
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(add());
  for (int i = 0; i < 8; ++i) {
    step();
    step(*other);
    wait(4000);
  }
  for (const std::string& id : ids) {
    EXPECT_EQ(state(id), "Sent0");
    EXPECT_EQ(gifts_of(id), 1U);
  }
}

// REQ-25, REQ-56
TEST_F(SalesforceRequestStep, LostAnswersAnywhereSendOnce) {
  for (const char* when : {"before_commit", "after_commit"}) {
    for (int skip = 0; skip < 6; ++skip) {
      for (const int times : {1, 2}) {
        const std::string id = add();
        wait(300'000);
        fault({{"kind", "cut"}, {"when", when}, {"path", "/composite"}, {"skip", skip}, {"times", times}});
        for (int i = 0; i < 16; ++i) {
          try {
            step();
          } catch (const giftsync::DependencyError&) {
            // The worker tries again.
          }
          wait(20'000);
        }
        server_.with_org([](Org& org) { org.faults().clear(); });
        EXPECT_EQ(state(id), "Sent0") << when << skip << times;
        EXPECT_EQ(gifts_of(id), 1U) << when << skip << times;
      }
    }
  }
}

TEST_F(SalesforceRequestStep, ARequestIsSentInFourCalls) {
  step();  // the first one asks about the object, too
  wait(300'000);
  add();
  const int before = calls();
  EXPECT_EQ(step().sent, 1U);
  EXPECT_EQ(calls(), before + 4) << "poll, read, claim, result";
}

}  // namespace
}  // namespace giftsync::salesforce
