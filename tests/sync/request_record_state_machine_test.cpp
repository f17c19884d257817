// The states of a request record and the only transitions between them.
#include "sync/request/request_record_state_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/text.h"

namespace giftsync::sync {
namespace {
using store::kAllRequestRecordStates;
using store::RequestRecordState;
using testing::HasSubstr;
using Action = RequestRecordAction;

constexpr Action kAllActions[] = {Action::approve, Action::auto_approve, Action::reject, Action::withdraw,
                                  Action::claim,   Action::release,      Action::send};

// REQ-7
TEST(RequestRecordStateMachine, OnlyDesignedTransitionsExist) {
  const std::map<std::pair<store::RequestRecordState, Action>, store::RequestRecordState> allowed{
      {{store::RequestRecordState::pending, Action::approve}, store::RequestRecordState::approved},
      {{store::RequestRecordState::pending, Action::auto_approve}, store::RequestRecordState::approved},
      {{store::RequestRecordState::pending, Action::reject}, store::RequestRecordState::rejected},
      {{store::RequestRecordState::approved, Action::reject}, store::RequestRecordState::rejected},
      {{store::RequestRecordState::approved, Action::withdraw}, store::RequestRecordState::pending},
      {{store::RequestRecordState::approved, Action::claim}, store::RequestRecordState::claimed},
      {{store::RequestRecordState::claimed, Action::release}, store::RequestRecordState::approved},
      {{store::RequestRecordState::claimed, Action::send}, store::RequestRecordState::sent},
  };
  for (const store::RequestRecordState state : store::kAllRequestRecordStates) {
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
    EXPECT_FALSE(state_after(store::RequestRecordState::sent, action));
    EXPECT_FALSE(state_after(store::RequestRecordState::rejected, action));
  }
}

TEST(RequestRecordStateMachine, EditsCanOnlyApproveOrReject) {
  for (const store::RequestRecordState state : store::kAllRequestRecordStates) {
    for (const RequestRecordStatus wanted : kAllRequestRecordStatuses) {
      const auto action = action_for_edit(state, wanted);
      const bool approves =
          state == store::RequestRecordState::pending && wanted == RequestRecordStatus::approved;
      const bool rejects =
          (state == store::RequestRecordState::pending || state == store::RequestRecordState::approved) &&
          wanted == RequestRecordStatus::rejected;
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
      transition_error(store::RequestRecordState::pending, "Sent"),
      "Request Status cannot go from Pending to Sent. A pending request can become Approved or Rejected.");
  EXPECT_THAT(transition_error(store::RequestRecordState::sent, "Rejected"),
              HasSubstr("A sent request stays Sent."));
  for (const store::RequestRecordState state : store::kAllRequestRecordStates)
    EXPECT_LE(count_code_points(transition_error(state, std::string(300, 'x'))), 255u);
}

TEST(RequestStatusParse, AcceptsSpecifiedWordsInAnyCase) {
  EXPECT_EQ(request_record_status_from_word(" approved "), RequestRecordStatus::approved);
  EXPECT_EQ(request_record_status_from_word(""), RequestRecordStatus::pending);
  EXPECT_EQ(request_record_status_from_word("Cancelled"), std::nullopt);
}

}  // namespace
}  // namespace giftsync::sync
