// The states of a request and the moves between them: these, and no others.
#include "sync/request_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/text.h"

namespace giftsync::sync {
namespace {

using schema::kAllRequestStates;
using schema::kAllRequestStatuses;
using schema::RequestState;
using schema::RequestStatus;
using testing::HasSubstr;
using Act = RequestAct;

constexpr Act kAllActs[] = {Act::approve, Act::auto_approve, Act::reject, Act::withdraw,
                            Act::claim,   Act::release,      Act::send};

TEST(RequestMoves, are_those_of_the_design_and_no_others) {
  const std::map<std::pair<RequestState, Act>, RequestState> allowed{
      {{RequestState::pending, Act::approve}, RequestState::approved},
      {{RequestState::pending, Act::auto_approve}, RequestState::approved},
      {{RequestState::pending, Act::reject}, RequestState::rejected},
      {{RequestState::approved, Act::reject}, RequestState::rejected},
      {{RequestState::approved, Act::withdraw}, RequestState::pending},
      {{RequestState::approved, Act::claim}, RequestState::claimed},
      {{RequestState::claimed, Act::release}, RequestState::approved},
      {{RequestState::claimed, Act::send}, RequestState::sent},
  };
  for (const RequestState state : kAllRequestStates) {
    for (const Act act : kAllActs) {
      const auto expected = allowed.find({state, act});
      const auto found = state_after(state, act);
      EXPECT_EQ(found.has_value(), expected != allowed.end());
      if (found && expected != allowed.end()) {
        EXPECT_EQ(*found, expected->second);
      }
    }
  }
}

TEST(RequestMoves, nothing_leads_out_of_sent_and_rejected) {
  for (const Act act : kAllActs) {
    EXPECT_FALSE(state_after(RequestState::sent, act));
    EXPECT_FALSE(state_after(RequestState::rejected, act));
  }
}

TEST(RequestMoves, people_approve_and_reject_and_can_ask_for_nothing_else) {
  for (const RequestState state : kAllRequestStates) {
    for (const RequestStatus wanted : kAllRequestStatuses) {
      const auto act = act_of_edit(state, wanted);
      const bool approves = state == RequestState::pending && wanted == RequestStatus::approved;
      const bool rejects = (state == RequestState::pending || state == RequestState::approved) &&
                           wanted == RequestStatus::rejected;
      EXPECT_EQ(act.has_value(), approves || rejects);
      if (act) {
        EXPECT_EQ(*act, approves ? Act::approve : Act::reject);
      }
    }
  }
}

TEST(RequestMoves, a_refusal_names_the_legal_moves_and_fits_the_error_log) {
  EXPECT_EQ(
      refusal(RequestState::pending, "Sent"),
      "Request Status cannot go from Pending to Sent. A pending request can become Approved or Rejected.");
  EXPECT_THAT(refusal(RequestState::sent, "Rejected"), HasSubstr("A sent request stays Sent."));
  for (const RequestState state : kAllRequestStates)
    EXPECT_LE(schema::count_code_points(refusal(state, std::string(300, 'x'))), 255u);
}

TEST(RequestStatusWords, are_those_of_the_specification_in_any_case) {
  EXPECT_EQ(schema::request_status_from_word(" approved "), RequestStatus::approved);
  EXPECT_EQ(schema::request_status_from_word(""), RequestStatus::pending);
  EXPECT_EQ(schema::request_status_from_word("Cancelled"), std::nullopt);
}

}  // namespace
}  // namespace giftsync::sync
