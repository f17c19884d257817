#include "sync/request/request_record_state_machine.h"

#include "platform/text.h"

namespace giftsync::sync {
namespace {

using State = store::RequestRecordState;
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

RequestRecordStatus crm_status_for(State state) {
  switch (state) {
    case State::pending:
      return RequestRecordStatus::pending;
    case State::rejected:
      return RequestRecordStatus::rejected;
    case State::sent:
      return RequestRecordStatus::sent;
    case State::approved:
    case State::claimed:
      break;
  }
  return RequestRecordStatus::approved;
}

std::string_view reported_state_word(State state) {
  return to_word(state == State::claimed ? State::approved : state);
}

std::optional<RequestRecordAction> action_for_edit(State state, RequestRecordStatus wanted) {
  std::optional<RequestRecordAction> action;
  if (wanted == RequestRecordStatus::approved) action = RequestRecordAction::approve;
  if (wanted == RequestRecordStatus::rejected) action = RequestRecordAction::reject;
  return action && state_after(state, *action) ? action : std::nullopt;
}

std::string transition_error(State state, std::string_view wanted) {
  return transition_error_start(state) +
         std::string(truncated(giftsync::trimmed(wanted), kQuotedCodePoints)) + ". " +
         std::string(describe_transitions(state));
}

std::string transition_error_start(State state) {
  return "Request Status cannot go from " + std::string(to_word(crm_status_for(state))) + " to ";
}

std::int64_t retry_failed_request_records(store::RequestRecords& records) {
  return records.retry_all_failed(transition_error_start(store::RequestRecordState::approved), records.now());
}

RequestRecordRetry retry_request_record(store::RequestRecords& records, const std::string& number_or_id) {
  const auto known = records.find_by_number_or_id(number_or_id);
  if (!known) return RequestRecordRetry::unknown;
  return records.retry_failed(std::span(&known->record_id, 1), records.now()) > 0
             ? RequestRecordRetry::retried
             : RequestRecordRetry::not_failed;
}

}  // namespace giftsync::sync
