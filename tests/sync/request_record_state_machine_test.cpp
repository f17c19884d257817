// The states of a request record and the only transitions between them.
#include "sync/request_record_state_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/text.h"

namespace giftsync::sync {
namespace {

using schema::kAllRequestRecordStatuses;
using schema::RequestRecordStatus;
using schema::store::kAllRequestRecordStates;
using schema::store::RequestRecordState;
using testing::HasSubstr;
using Action = RequestRecordAction;

constexpr Action kAllActions[] = {Action::approve, Action::auto_approve, Action::reject, Action::withdraw,
                                  Action::claim,   Action::release,      Action::send};

// REQ-7
TEST(RequestRecordStateMachine, OnlyDesignedTransitionsExist) {
  const std::map<std::pair<schema::store::RequestRecordState, Action>, schema::store::RequestRecordState>
      allowed{
          {{schema::store::RequestRecordState::pending, Action::approve},
           schema::store::RequestRecordState::approved},
          {{schema::store::RequestRecordState::pending, Action::auto_approve},
           schema::store::RequestRecordState::approved},
          {{schema::store::RequestRecordState::pending, Action::reject},
           schema::store::RequestRecordState::rejected},
          {{schema::store::RequestRecordState::approved, Action::reject},
           schema::store::RequestRecordState::rejected},
          {{schema::store::RequestRecordState::approved, Action::withdraw},
           schema::store::RequestRecordState::pending},
          {{schema::store::RequestRecordState::approved, Action::claim},
           schema::store::RequestRecordState::claimed},
          {{schema::store::RequestRecordState::claimed, Action::release},
           schema::store::RequestRecordState::approved},
          {{schema::store::RequestRecordState::claimed, Action::send},
           schema::store::RequestRecordState::sent},
      };
  for (const schema::store::RequestRecordState state : schema::store::kAllRequestRecordStates) {
    for (const Action action : kAllActions) {
      const auto expected = allowed.find({state, action});
      const auto found = state_after(state, action);
      EXPECT_EQ(found.has_value(), expected != allowed.end());
      if (found && expected != allowed.end()) {
        EXPECT_EQ(*found, expected->second);
      }
    }
  }
}

TEST(RequestRecordStateMachine, SentAndRejectedAreFinal) {
  for (const Action action : kAllActions) {
    EXPECT_FALSE(state_after(schema::store::RequestRecordState::sent, action));
    EXPECT_FALSE(state_after(schema::store::RequestRecordState::rejected, action));
  }
}

TEST(RequestRecordStateMachine, EditsCanOnlyApproveOrReject) {
  for (const schema::store::RequestRecordState state : schema::store::kAllRequestRecordStates) {
    for (const schema::RequestRecordStatus wanted : schema::kAllRequestRecordStatuses) {
      const auto action = action_for_edit(state, wanted);
      const bool approves = state == schema::store::RequestRecordState::pending &&
                            wanted == schema::RequestRecordStatus::approved;
      const bool rejects = (state == schema::store::RequestRecordState::pending ||
                            state == schema::store::RequestRecordState::approved) &&
                           wanted == schema::RequestRecordStatus::rejected;
      EXPECT_EQ(action.has_value(), approves || rejects);
      if (action) {
        EXPECT_EQ(*action, approves ? Action::approve : Action::reject);
      }
    }
  }
}

// REQ-31
TEST(RequestRecordStateMachine, ErrorNamesAllowedTransitionsAndFitsErrorLog) {
  EXPECT_EQ(
      transition_error(schema::store::RequestRecordState::pending, "Sent"),
      "Request Status cannot go from Pending to Sent. A pending request can become Approved or Rejected.");
  EXPECT_THAT(transition_error(schema::store::RequestRecordState::sent, "Rejected"),
              HasSubstr("A sent request stays Sent."));
  for (const schema::store::RequestRecordState state : schema::store::kAllRequestRecordStates)
    EXPECT_LE(platform::count_code_points(transition_error(state, std::string(300, 'x'))), 255u);
}

TEST(RequestStatusParse, AcceptsSpecifiedWordsInAnyCase) {
  EXPECT_EQ(schema::request_record_status_from_word(" approved "), schema::RequestRecordStatus::approved);
  EXPECT_EQ(schema::request_record_status_from_word(""), schema::RequestRecordStatus::pending);
  EXPECT_EQ(schema::request_record_status_from_word("Cancelled"), std::nullopt);
}

}  // namespace
}  // namespace giftsync::sync
