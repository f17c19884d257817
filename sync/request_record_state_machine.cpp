#include "sync/request_record_state_machine.h"

#include "platform/text.h"

namespace giftsync::sync {
namespace {

struct Transition {
  schema::store::RequestRecordState from;
  RequestRecordAction action;
  schema::store::RequestRecordState to;
};
constexpr Transition kTransitions[] = {
    {schema::store::RequestRecordState::pending, RequestRecordAction::approve,
     schema::store::RequestRecordState::approved},
    {schema::store::RequestRecordState::pending, RequestRecordAction::auto_approve,
     schema::store::RequestRecordState::approved},
    {schema::store::RequestRecordState::pending, RequestRecordAction::reject,
     schema::store::RequestRecordState::rejected},
    {schema::store::RequestRecordState::approved, RequestRecordAction::reject,
     schema::store::RequestRecordState::rejected},
    {schema::store::RequestRecordState::approved, RequestRecordAction::withdraw,
     schema::store::RequestRecordState::pending},
    {schema::store::RequestRecordState::approved, RequestRecordAction::claim,
     schema::store::RequestRecordState::claimed},
    {schema::store::RequestRecordState::claimed, RequestRecordAction::release,
     schema::store::RequestRecordState::approved},
    {schema::store::RequestRecordState::claimed, RequestRecordAction::send,
     schema::store::RequestRecordState::sent},
};

constexpr std::size_t kQuotedCodePoints = 40;

std::string_view describe_transitions(schema::store::RequestRecordState state) {
  switch (state) {
    case schema::store::RequestRecordState::pending:
      return "A pending request can become Approved or Rejected.";
    case schema::store::RequestRecordState::approved:
      return "An approved request can become Rejected until giftsync begins to send it.";
    case schema::store::RequestRecordState::claimed:
      return "It is being sent: too late to change it.";
    case schema::store::RequestRecordState::rejected:
      return "A rejected request stays Rejected: make a new one.";
    case schema::store::RequestRecordState::sent:
      return "A sent request stays Sent.";
  }
  return "";
}

}  // namespace

std::optional<schema::store::RequestRecordState> state_after(schema::store::RequestRecordState state,
                                                             RequestRecordAction action) {
  for (const Transition& transition : kTransitions) {
    if (transition.from == state && transition.action == action) return transition.to;
  }
  return std::nullopt;
}

schema::RequestRecordStatus crm_status_for(schema::store::RequestRecordState state) {
  switch (state) {
    case schema::store::RequestRecordState::pending:
      return schema::RequestRecordStatus::pending;
    case schema::store::RequestRecordState::rejected:
      return schema::RequestRecordStatus::rejected;
    case schema::store::RequestRecordState::sent:
      return schema::RequestRecordStatus::sent;
    case schema::store::RequestRecordState::approved:
    case schema::store::RequestRecordState::claimed:
      break;
  }
  return schema::RequestRecordStatus::approved;
}

std::string_view reported_state_word(schema::store::RequestRecordState state) {
  return to_word(state == schema::store::RequestRecordState::claimed
                     ? schema::store::RequestRecordState::approved
                     : state);
}

std::optional<RequestRecordAction> action_for_edit(schema::store::RequestRecordState state,
                                                   schema::RequestRecordStatus wanted) {
  std::optional<RequestRecordAction> action;
  if (wanted == schema::RequestRecordStatus::approved) action = RequestRecordAction::approve;
  if (wanted == schema::RequestRecordStatus::rejected) action = RequestRecordAction::reject;
  return action && state_after(state, *action) ? action : std::nullopt;
}

std::string transition_error(schema::store::RequestRecordState state, std::string_view wanted) {
  return "Request Status cannot go from " + std::string(to_word(crm_status_for(state))) + " to " +
         std::string(platform::truncated(platform::trimmed(wanted), kQuotedCodePoints)) + ". " +
         std::string(describe_transitions(state));
}

}  // namespace giftsync::sync
