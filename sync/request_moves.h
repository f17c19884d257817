// sync: the states of a request record and the only moves between them (design 3.3). Pure.
//
//              approve, auto_approve            claim              send
//   Pending ─────────────────────────▶ Approved ──────▶ (claimed) ──────▶ Sent
//    │   ▲                              │   │  ▲             │
//    │   └───────── withdraw ───────────┘   │  └── release ──┘
//    └─ reject ─▶ Rejected ◀──── reject ────┘
//
// A claimed request shows Approved in the CRM until its gift exists; the claim itself is a conditional update
// there, and from it on nobody can reject. It is released only when the update was not made, or when nothing
// could be sent.
#pragma once

#include <optional>
#include <string>

#include "schema/request_record.h"
#include "schema/store/request_book.h"

namespace giftsync::sync {

enum class RequestAct {
  approve,       ///< by a person
  auto_approve,  ///< by Auto-Approved
  reject,
  withdraw,  ///< its content changed, or Auto-Approved was unchecked
  claim,
  release,
  send,
};

/// The state after the act; nullopt when the act is not allowed.
std::optional<schema::RequestState> state_after(schema::RequestState state, RequestAct act);

/// What the CRM shows of a request in that state.
schema::RequestStatus shown_status(schema::RequestState state);

/// Its word in the history of moves: a claimed one is an approved one to people.
std::string_view told_word(schema::RequestState state);

/// What somebody who edits Request Status to `wanted` asks for; nullopt when no person can ask for it.
std::optional<RequestAct> act_of_edit(schema::RequestState state, schema::RequestStatus wanted);

/// Why Request Status cannot become `wanted`, and what it can become, in one sentence or two.
std::string refusal(schema::RequestState state, std::string_view wanted);

}  // namespace giftsync::sync
