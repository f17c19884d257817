// Where people, commands and daemons meet on one request at one moment, and where one of them dies.
#include "tests/sync/request_ground.h"

namespace giftsync::sync {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = VerdictOutcome::Kind;

class RequestSeams : public RequestGround {
 protected:
  VerdictOutcome approve(const std::string& number) {
    return decide_request(store(), crm, number, {RequestAct::approve, "kim", ""}, now);
  }
  /// `act` happens once, at the first moment at which `is_time` says so.
  void once(std::function<bool()> is_time, std::function<void()> act) {
    crm.meanwhile = [this, is_time = std::move(is_time), act = std::move(act), busy = false]() mutable {
      if (busy || !is_time()) return;
      busy = true;
      const auto run = act;  // the next line may end what is captured here
      crm.meanwhile = [] {};
      run();
    };
  }
  bool is_in_state(const std::string& id, schema::RequestState state) {
    const auto found = known(id);
    return found && found->state == state;
  }
  /// Stops every send, so that approved requests wait.
  void hold() { sender = {std::nullopt, "wait"}; }
  void let_go() {
    sender = good_;
    now = now + schema::kHourMillis;
  }
  void SetUp() override {
    RequestGround::SetUp();
    good_ = sender;
  }

 private:
  SenderVerdict good_;
};

TEST_P(RequestSeams, an_edit_of_an_approved_request_is_put_back_and_leaves_a_minute_to_reject) {
  for (const bool rejects : {true, false}) {
    const std::string id = rejects ? "1" : "2";
    crm.insert(id, "Hello", false);
    settle();
    EXPECT_EQ(approve(id).kind, Kind::done);
    crm.edit(id, F::status, std::string("Cancelled"));
    settle();
    EXPECT_EQ(status(id), "Approved");
    EXPECT_THAT(error(id), HasSubstr("cannot go from Approved to Cancelled"));
    now = now + 50 * schema::kSecondMillis;
    settle();
    EXPECT_THAT(sent(id), IsEmpty());
    if (rejects) crm.edit(id, F::status, std::string("Rejected"));
    now = now + 20 * schema::kSecondMillis;
    settle();
    EXPECT_EQ(status(id), rejects ? "Rejected" : "Sent");
    EXPECT_EQ(error(id), "");
  }
}

TEST_P(RequestSeams, an_approval_meets_an_edit_that_does_not_concern_it) {
  crm.insert("1", "Hello", false);
  settle();
  once([&] { return is_in_state("1", schema::RequestState::approved); },
       [&] { crm.edit("1", F::auto_approved, false); });
  EXPECT_EQ(approve("R-1").kind, Kind::done);
  EXPECT_EQ(status("1"), "Approved");
  settle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestSeams, an_approval_meets_an_edit_of_what_it_is_bound_to) {
  crm.insert("1", "Hello", false);
  settle();
  once([&] { return is_in_state("1", schema::RequestState::approved); },
       [&] { crm.edit("1", F::message, std::string("Other")); });
  EXPECT_EQ(approve("R-1").kind, Kind::changed);
  now = now + schema::kMinuteMillis;
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("Changed after approval"));
}

TEST_P(RequestSeams, an_approval_whose_command_died_before_it_was_written_counts_without_an_error) {
  crm.insert("1", "Hello", false);
  settle();
  once([&] { return is_in_state("1", schema::RequestState::approved); }, [] { throw Killed{}; });
  EXPECT_THROW(approve("R-1"), Killed);
  EXPECT_EQ(status("1"), "Pending") << "nobody has written it";
  hold();
  now = now + schema::kMinuteMillis;
  settle();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(error("1"), "wait") << "and no word of an edit that nobody made";
  let_go();
  settle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestSeams, an_automatic_approval_that_somebody_takes_back_by_hand_says_how_to) {
  hold();
  crm.insert("1", "Hello", true);
  settle();
  crm.edit("1", F::status, std::string("Pending"));
  settle();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Approved to Pending"));
}

TEST_P(RequestSeams, a_rejection_that_the_finishing_round_meets_is_put_back_and_told) {
  crm.insert("1", "Hello", false, "Approved");
  once([&] { return crm.rows.at("1").claimed; }, [] { throw Killed{}; });
  EXPECT_THROW(step(), Killed);
  ASSERT_TRUE(crm.rows.at("1").claimed);
  crm.edit("1", F::status, std::string("Rejected"));
  now = now + schema::kMinuteMillis;
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Sent to Rejected"));
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
}

TEST_P(RequestSeams, a_record_that_took_the_place_of_another_has_none_of_its_approval) {
  hold();
  crm.insert("1", "Hello", false, "Approved");
  settle();
  crm.remove("1");
  crm.insert("1", "Hello", false).set(F::number, std::string("R-another"));
  const RequestReport report = step();
  EXPECT_THAT(report.notes, Contains(HasSubstr("has the Id of request R-1")));
  let_go();
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_EQ(approve("R-another").kind, Kind::done);
  settle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestSeams, a_record_in_the_place_of_a_sent_one_is_not_sent) {
  crm.insert("1", "Hello", true);
  settle();
  crm.remove("1");
  crm.insert("1", "Hello", true).set(F::number, std::string("R-another"));
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(error("1"), HasSubstr("A sent request stays Sent"));
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
}

TEST_P(RequestSeams, a_record_that_is_first_seen_while_it_is_being_sent_waits_for_a_person) {
  for (const char* shown : {"Approved", "Pending"}) {
    const std::string id = shown;
    crm.insert(id, "Hello", true, shown).claimed = true;
    once([&] { return known(id).has_value(); }, [] { throw Killed{}; });
    EXPECT_THROW(step(), Killed);
    now = now + schema::kMinuteMillis;
    settle();
    EXPECT_EQ(status(id), "Pending");
    EXPECT_THAT(error(id), HasSubstr("look whether its gift went out"));
    EXPECT_FALSE(crm.rows.at(id).claimed);
    EXPECT_THAT(sent(id), IsEmpty());
    EXPECT_EQ(approve(id).kind, Kind::done);
    settle();
    EXPECT_EQ(status(id), "Sent");
  }
}

TEST_P(RequestSeams, what_the_crm_refuses_to_be_written_holds_up_nobody_and_is_tried_again) {
  crm.insert("1", "Hello", true);
  crm.insert("2", "Hello", true);
  crm.refused = {"1"};
  RequestReport report = step();
  EXPECT_THAT(report.notes, Contains(HasSubstr("request R-1: the CRM refuses")));
  settle();
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_TRUE(known("1")->due_at.has_value());
  crm.refused.clear();
  now = now + schema::kHourMillis;
  settle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestSeams, what_is_due_does_not_wait_for_the_end_of_a_long_import) {
  hold();
  crm.insert("due", "Hello", true);
  settle();
  let_go();
  for (int i = 0; i < 1'000; ++i) crm.insert("i" + std::to_string(i), "Hello", false);
  step();
  EXPECT_EQ(status("due"), "Sent");
}

TEST_P(RequestSeams, a_sent_request_keeps_no_copy_of_its_content) {
  crm.insert("1", "Hello", true);
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(known("1")->approved_content, "");
  EXPECT_EQ(known("1")->order, "");
}

INSTANTIATE_TEST_SUITE_P(BackEnds, RequestSeams,
                         testing::Values(schema::Dialect::sqlite, schema::Dialect::postgresql),
                         schema::name_of_dialect);

}  // namespace
}  // namespace giftsync::sync
