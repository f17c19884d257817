#include "sync/request_moves.h"

#include "schema/text.h"

namespace giftsync::sync {
namespace {

using schema::RequestState;
using schema::RequestStatus;

struct Move {
  RequestState from;
  RequestAct act;
  RequestState to;
};
constexpr Move kMoves[] = {
    {RequestState::pending, RequestAct::approve, RequestState::approved},
    {RequestState::pending, RequestAct::auto_approve, RequestState::approved},
    {RequestState::pending, RequestAct::reject, RequestState::rejected},
    {RequestState::approved, RequestAct::reject, RequestState::rejected},
    {RequestState::approved, RequestAct::withdraw, RequestState::pending},
    {RequestState::approved, RequestAct::claim, RequestState::claimed},
    {RequestState::claimed, RequestAct::release, RequestState::approved},
    {RequestState::claimed, RequestAct::send, RequestState::sent},
};

constexpr std::size_t kQuotedCodePoints = 40;

std::string_view legal_moves(RequestState state) {
  switch (state) {
    case RequestState::pending:
      return "A pending request can become Approved or Rejected.";
    case RequestState::approved:
      return "An approved request can become Rejected until giftsync begins to send it.";
    case RequestState::claimed:
      return "It is being sent: too late to change it.";
    case RequestState::rejected:
      return "A rejected request stays Rejected: make a new one.";
    case RequestState::sent:
      return "A sent request stays Sent.";
  }
  return "";
}

}  // namespace

std::optional<RequestState> state_after(RequestState state, RequestAct act) {
  for (const Move& move : kMoves) {
    if (move.from == state && move.act == act) return move.to;
  }
  return std::nullopt;
}

RequestStatus shown_status(RequestState state) {
  switch (state) {
    case RequestState::pending:
      return RequestStatus::pending;
    case RequestState::rejected:
      return RequestStatus::rejected;
    case RequestState::sent:
      return RequestStatus::sent;
    case RequestState::approved:
    case RequestState::claimed:
      break;
  }
  return RequestStatus::approved;
}

std::string_view told_word(RequestState state) {
  return to_word(state == RequestState::claimed ? RequestState::approved : state);
}

std::optional<RequestAct> act_of_edit(RequestState state, RequestStatus wanted) {
  std::optional<RequestAct> act;
  if (wanted == RequestStatus::approved) act = RequestAct::approve;
  if (wanted == RequestStatus::rejected) act = RequestAct::reject;
  return act && state_after(state, *act) ? act : std::nullopt;
}

std::string refusal(RequestState state, std::string_view wanted) {
  return "Request Status cannot go from " + std::string(to_word(shown_status(state))) + " to " +
         std::string(schema::truncated(schema::trimmed(wanted), kQuotedCodePoints)) + ". " +
         std::string(legal_moves(state));
}

}  // namespace giftsync::sync
