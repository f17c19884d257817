// sync: the states of a request record and the only transitions between them (REQ-7). Pure.
//
//              approve, auto_approve            claim              send
//   Pending ─────────────────────────▶ Approved ──────▶ (claimed) ──────▶ Sent
//    │   ▲                              │   │  ▲             │
//    │   └───────── withdraw ───────────┘   │  └── release ──┘
//    └─ reject ─▶ Rejected ◀──── reject ────┘
//
// A claimed request shows Approved in the CRM until its gift exists. The claim is a conditional update in the
// CRM; after it the request can no longer be rejected. The claim is released only if that update was not made
// or if nothing could be sent.
#pragma once

#include <optional>
#include <string>

#include "schema/request_record.h"
#include "schema/store/request_records.h"

namespace giftsync::sync {

enum class RequestRecordAction {
  approve,       ///< by a person
  auto_approve,  ///< by Auto-Approved
  reject,
  withdraw,  ///< its content changed, or Auto-Approved was unchecked
  claim,
  release,
  send,
};

/// The state after the action; nullopt when the action is not allowed.
std::optional<schema::store::RequestRecordState> state_after(schema::store::RequestRecordState state,
                                                             RequestRecordAction action);

/// The Request Status that the CRM shows in that state.
schema::RequestRecordStatus crm_status_for(schema::store::RequestRecordState state);

/// The state's name in the transition history, where a claimed request is shown as approved.
std::string_view reported_state_word(schema::store::RequestRecordState state);

/// The action that an edit of Request Status to `wanted` asks for; nullopt when no person can ask for it.
std::optional<RequestRecordAction> action_for_edit(schema::store::RequestRecordState state,
                                                   schema::RequestRecordStatus wanted);

/// Why Request Status cannot become `wanted`, and what it can become, in one or two sentences.
std::string transition_error(schema::store::RequestRecordState state, std::string_view wanted);
/// What every transition_error() of that state begins with. ASCII.
std::string transition_error_start(schema::store::RequestRecordState state);

}  // namespace giftsync::sync
