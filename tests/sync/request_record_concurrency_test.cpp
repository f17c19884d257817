// Request records when people, commands and daemons act at the same time, and when one of them is killed.
#include "tests/support/log_lines.h"
#include "tests/support/request_record_fixture.h"

namespace giftsync::sync {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = ApprovalResult::Kind;

class RequestRecordConcurrency : public tests::RequestRecordFixture {
 protected:
  ApprovalResult approve(const std::string& number) {
    return decide_request_record(store().request_records, crm, number,
                                 {RequestRecordAction::approve, "kim", ""}, now);
  }
  /// `act` runs once, the first time that `is_time` is true.
  void once(std::function<bool()> is_time, std::function<void()> act) {
    crm.around_each_call = [this, is_time = std::move(is_time), act = std::move(act),
                            busy = false]() mutable {
      if (busy || !is_time()) return;
      busy = true;
      const auto run = act;  // the next line may destroy the captures
      crm.around_each_call = [] {};
      run();
    };
  }
  bool is_in_state(const std::string& id, store::RequestRecordState state) {
    const auto found = known(id);
    return found && found->state == state;
  }
  /// Prevents every send, so that approved requests wait.
  void block_sending() { sender = refused("wait"); }
  void resume_sending() {
    sender = good_;
    now = now + kHourMillis;
  }
  void SetUp() override {
    tests::RequestRecordFixture::SetUp();
    good_ = sender;
  }

 private:
  SenderAuthorization good_;
};

// REQ-17
TEST_P(RequestRecordConcurrency, IllegalEditOfApprovedRequestIsRevertedWithDelay) {
  for (const bool rejects : {true, false}) {
    const std::string id = rejects ? "1" : "2";
    crm.insert(id, "Hello", false);
    run_until_idle();
    EXPECT_EQ(approve(id).kind, Kind::done);
    crm.edit(id, F::status, std::string("Cancelled"));
    run_until_idle();
    EXPECT_EQ(status(id), "Approved");
    EXPECT_THAT(error(id), HasSubstr("cannot go from Approved to Cancelled"));
    now = now + 50 * kSecondMillis;
    run_until_idle();
    EXPECT_THAT(sent(id), IsEmpty());
    if (rejects) crm.edit(id, F::status, std::string("Rejected"));
    now = now + 20 * kSecondMillis;
    run_until_idle();
    EXPECT_EQ(status(id), rejects ? "Rejected" : "Sent");
    EXPECT_EQ(error(id), "");
  }
}

TEST_P(RequestRecordConcurrency, ApprovalWithConcurrentUnrelatedEdit) {
  crm.insert("1", "Hello", false);
  run_until_idle();
  once([&] { return is_in_state("1", store::RequestRecordState::approved); },
       [&] { crm.edit("1", F::auto_approved, false); });
  EXPECT_EQ(approve("R-1").kind, Kind::done);
  EXPECT_EQ(status("1"), "Approved");
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestRecordConcurrency, ApprovalWithConcurrentContentEdit) {
  crm.insert("1", "Hello", false);
  run_until_idle();
  once([&] { return is_in_state("1", store::RequestRecordState::approved); },
       [&] { crm.edit("1", F::message, std::string("Other")); });
  EXPECT_EQ(approve("R-1").kind, Kind::changed);
  now = now + kMinuteMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("Changed after approval"));
}

// REQ-19
TEST_P(RequestRecordConcurrency, ApprovalSurvivesCrashBeforeCrmWrite) {
  crm.insert("1", "Hello", false);
  run_until_idle();
  once([&] { return is_in_state("1", store::RequestRecordState::approved); }, [] { throw tests::Killed{}; });
  EXPECT_THROW(approve("R-1"), tests::Killed);
  EXPECT_EQ(status("1"), "Pending") << "not written yet";
  block_sending();
  now = now + kMinuteMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(error("1"), "wait") << "and no report of an edit that was not made";
  resume_sending();
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
}

// covers: GUARD-30
TEST_P(RequestRecordConcurrency, ARecordThatHasToWaitDoesSoAfterAKillBeforeTheCrmWrite) {
  for (const bool is_claimed : {false, true}) {
    const std::string id = is_claimed ? "1" : "2";
    store::UsageLimit limit{"2027-01-15",
                            store::usage_scope(store::BudgetKind::installation),
                            store::BudgetKind::installation,
                            {0, {}},
                            now - kDayMillis,
                            now + kDayMillis,
                            true};
    store().gifts.set_sending_charge([limit](const store::GiftRequest&) {
      return store::SendingCharge{"2027-01-15", {limit}};
    });
    if (!is_claimed)
      rules.hold_reasons = [](const store::NewGiftRequest&) {
        return std::vector<store::HoldReason>{{"rule", "", "A rule asks for a person."}};
      };
    crm.insert(id, "Hello", true);
    once([&] { return known(id) && known(id)->error.starts_with(kHeldError); },
         [] { throw tests::Killed{}; });
    EXPECT_THROW(run_until_idle(), tests::Killed);
    EXPECT_EQ(crm.rows.at(id).claimed, is_claimed);
    now = now + kMinuteMillis;
    run_until_idle();
    EXPECT_EQ(status(id), "Pending");
    EXPECT_EQ(error(id), known(id)->error);
    EXPECT_THAT(error(id), HasSubstr(is_claimed ? "budget" : "A rule asks for a person."));
    EXPECT_FALSE(crm.rows.at(id).claimed);
    EXPECT_EQ(crm.rows.at(id).checkbox(F::auto_approved), false);
    EXPECT_THAT(transitions(id), SizeIs(3)) << "it was approved and withdrawn once";
    EXPECT_THAT(sent(id), IsEmpty());
    rules.hold_reasons = {};
  }
}

// covers: GUARD-30
TEST_P(RequestRecordConcurrency, AnApprovalRightAfterAHoldOrAWithdrawalIsAPersons) {
  rules.hold_reasons = [](const store::NewGiftRequest&) {
    return std::vector<store::HoldReason>{{"rule", "", "A rule asks for a person."}};
  };
  crm.insert("1", "Hello", true);
  step();
  ASSERT_EQ(status("1"), "Pending");
  crm.edit("1", F::status, std::string("Approved"));
  block_sending();
  crm.insert("2", "Hello", false, "Approved");
  step();
  crm.edit("2", F::message, std::string("Other"));
  step();
  ASSERT_EQ(status("2"), "Pending");
  ASSERT_THAT(error("2"), HasSubstr("Changed after approval"));
  crm.edit("2", F::status, std::string("Approved"));
  resume_sending();
  run_until_idle();
  for (const std::string id : {"1", "2"}) {
    EXPECT_EQ(status(id), "Sent") << id;
    EXPECT_THAT(transitions(id), Contains("pending>approved by CRM user 005B")) << id;
  }
}

// REQ-26
TEST_P(RequestRecordConcurrency, AnAnnouncedWriteAndAClaimHaveTheirWindows) {
  crm.insert("1", "Hello", false);
  run_until_idle();
  once([&] { return is_in_state("1", store::RequestRecordState::approved); }, [] { throw tests::Killed{}; });
  EXPECT_THROW(approve("R-1"), tests::Killed);
  EXPECT_EQ(known("1")->next_attempt_at, now + 5 * kSecondMillis) << "the write is announced";
  now = now + 5 * kSecondMillis;
  once([&] { return is_in_state("1", store::RequestRecordState::claimed); }, [] { throw tests::Killed{}; });
  EXPECT_THROW(run_until_idle(), tests::Killed);
  EXPECT_EQ(known("1")->next_attempt_at, now + 10 * kSecondMillis) << "it is claimed";
  now = now + 10 * kSecondMillis - 1;
  run_until_idle();
  EXPECT_THAT(sent("1"), IsEmpty()) << "the claim may still be in progress";
  now = now + 1;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestRecordConcurrency, ManualRevertOfAutomaticApprovalIsExplained) {
  block_sending();
  crm.insert("1", "Hello", true);
  run_until_idle();
  crm.edit("1", F::status, std::string("Pending"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Approved to Pending"));
}

// REQ-22
TEST_P(RequestRecordConcurrency, RejectionDuringResumedClaimIsRevertedAndReported) {
  crm.insert("1", "Hello", false, "Approved");
  once([&] { return crm.rows.at("1").claimed; }, [] { throw tests::Killed{}; });
  EXPECT_THROW(step(), tests::Killed);
  ASSERT_TRUE(crm.rows.at("1").claimed);
  EXPECT_EQ(status("1"), "Approved") << "until the gift exists";
  crm.edit("1", F::status, std::string("Rejected"));
  now = now + kMinuteMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Sent to Rejected"));
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
}

// covers: GUARD-1
TEST_P(RequestRecordConcurrency, WhatKeepsARecordFromBeingSentCountsAlsoAfterTheClaimOfAKilledDaemon) {
  for (const bool is_held : {false, true}) {
    const std::string id = is_held ? "2" : "1";
    crm.insert(id, "Hello", true);
    once([&] { return crm.rows.at(id).claimed; }, [] { throw tests::Killed{}; });
    EXPECT_THROW(step(), tests::Killed);
    ASSERT_TRUE(crm.rows.at(id).claimed);
    if (is_held)
      rules.hold_reasons = [](const store::NewGiftRequest&) {
        return std::vector<store::HoldReason>{{"rule", "", "A rule asks for a person."}};
      };
    else
      rules.refuse_recipients = [](std::span<const std::string> emails) {
        return std::vector<std::optional<std::string>>(emails.size(), "The recipient asked for no gifts.");
      };
    now = now + kMinuteMillis;
    run_until_idle();
    EXPECT_THAT(sent(id), IsEmpty());
    EXPECT_EQ(status(id), is_held ? "Pending" : "Approved");
    EXPECT_THAT(error(id),
                HasSubstr(is_held ? "A rule asks for a person." : "The recipient asked for no gifts."));
    EXPECT_FALSE(crm.rows.at(id).claimed) << "the claim is released";
    rules.refuse_recipients = {};
  }
}

// REQ-18
TEST_P(RequestRecordConcurrency, ReplacementRecordDoesNotInheritApproval) {
  block_sending();
  crm.insert("1", "Hello", false, "Approved");
  run_until_idle();
  crm.remove("1");
  crm.insert("1", "Hello", false).set(F::number, std::string("R-another"));
  const RequestRecordStepStats report = step();
  EXPECT_THAT(tests::messages_of(report.warnings), Contains(HasSubstr("has the Id of request R-1")));
  resume_sending();
  run_until_idle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_EQ(approve("R-another").kind, Kind::done);
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestRecordConcurrency, ReplacementOfSentRecordIsNotSent) {
  crm.insert("1", "Hello", true);
  run_until_idle();
  crm.remove("1");
  crm.insert("1", "Hello", true).set(F::number, std::string("R-another"));
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(error("1"), HasSubstr("A sent request stays Sent"));
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
}

// REQ-13
TEST_P(RequestRecordConcurrency, NewRecordWithForeignClaimRequiresApproval) {
  for (const char* shown : {"Approved", "Pending"}) {
    const std::string id = shown;
    crm.insert(id, "Hello", true, shown).claimed = true;
    once([&] { return known(id).has_value(); }, [] { throw tests::Killed{}; });
    EXPECT_THROW(step(), tests::Killed);
    now = now + kMinuteMillis;
    run_until_idle();
    EXPECT_EQ(status(id), "Pending");
    EXPECT_THAT(error(id), HasSubstr("Check whether the gift was sent"));
    EXPECT_FALSE(crm.rows.at(id).claimed);
    EXPECT_THAT(sent(id), IsEmpty());
    EXPECT_EQ(approve(id).kind, Kind::done);
    run_until_idle();
    EXPECT_EQ(status(id), "Sent");
  }
}

// REQ-34
TEST_P(RequestRecordConcurrency, RejectedCrmWriteIsRetriedWithoutBlockingOthers) {
  crm.insert("1", "Hello", true);
  crm.insert("2", "Hello", true);
  crm.refused = {"1"};
  RequestRecordStepStats report = step();
  EXPECT_THAT(tests::messages_of(report.warnings),
              Contains(HasSubstr("request R-1: the CRM rejected giftsync's update")));
  EXPECT_EQ(tests::fields_text(report.warnings.front()), "request_record=R-1");  // OPS-47
  run_until_idle();
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_TRUE(known("1")->next_attempt_at.has_value());
  crm.refused.clear();
  now = now + kHourMillis;
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestRecordConcurrency, DueRequestsAreProcessedDuringLargeImport) {
  block_sending();
  crm.insert("due", "Hello", true);
  run_until_idle();
  resume_sending();
  for (int i = 0; i < 1'000; ++i) crm.insert("i" + std::to_string(i), "Hello", false);
  step();
  EXPECT_EQ(status("due"), "Sent");
}

TEST_P(RequestRecordConcurrency, SentRequestKeepsNoCopyOfItsContent) {
  crm.insert("1", "Hello", true);
  run_until_idle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(known("1")->approved_content, "");
  EXPECT_EQ(known("1")->gift_request_text, "");
}

INSTANTIATE_TEST_SUITE_P(BackEnds, RequestRecordConcurrency,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::sync
