#include "sync/request_record_state_machine.h"

#include "platform/text.h"

namespace giftsync::sync {
namespace {

using State = schema::store::RequestRecordState;
using Action = RequestRecordAction;

struct Transition {
  State from;
  Action action;
  State to;
};
constexpr Transition kTransitions[] = {
    {State::pending, Action::approve, State::approved},
    {State::pending, Action::auto_approve, State::approved},
    {State::pending, Action::reject, State::rejected},
    {State::approved, Action::reject, State::rejected},
    {State::approved, Action::withdraw, State::pending},
    {State::approved, Action::claim, State::claimed},
    {State::claimed, Action::release, State::approved},
    {State::claimed, Action::send, State::sent},
};

constexpr std::size_t kQuotedCodePoints = 40;

std::string_view describe_transitions(State state) {
  switch (state) {
    case State::pending:
      return "A pending request can become Approved or Rejected.";
    case State::approved:
      return "An approved request can become Rejected until giftsync begins to send it.";
    case State::claimed:
      return "It is being sent: too late to change it.";
    case State::rejected:
      return "A rejected request stays Rejected: make a new one.";
    case State::sent:
      return "A sent request stays Sent.";
  }
  return "";
}

}  // namespace

std::optional<State> state_after(State state, RequestRecordAction action) {
  for (const Transition& transition : kTransitions) {
    if (transition.from == state && transition.action == action) return transition.to;
  }
  return std::nullopt;
}

schema::RequestRecordStatus crm_status_for(State state) {
  switch (state) {
    case State::pending:
      return schema::RequestRecordStatus::pending;
    case State::rejected:
      return schema::RequestRecordStatus::rejected;
    case State::sent:
      return schema::RequestRecordStatus::sent;
    case State::approved:
    case State::claimed:
      break;
  }
  return schema::RequestRecordStatus::approved;
}

std::string_view reported_state_word(State state) {
  return to_word(state == State::claimed ? State::approved : state);
}

std::optional<RequestRecordAction> action_for_edit(State state, schema::RequestRecordStatus wanted) {
  std::optional<RequestRecordAction> action;
  if (wanted == schema::RequestRecordStatus::approved) action = RequestRecordAction::approve;
  if (wanted == schema::RequestRecordStatus::rejected) action = RequestRecordAction::reject;
  return action && state_after(state, *action) ? action : std::nullopt;
}

std::string transition_error(State state, std::string_view wanted) {
  return transition_error_start(state) +
         std::string(platform::truncated(platform::trimmed(wanted), kQuotedCodePoints)) + ". " +
         std::string(describe_transitions(state));
}

std::string transition_error_start(State state) {
  return "Request Status cannot go from " + std::string(to_word(crm_status_for(state))) + " to ";
}

}  // namespace giftsync::sync
