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

#include <cstdint>
#include <optional>
#include <string>

#include "schema/request_record.h"
#include "schema/store/crm/request_records.h"
#include "schema/store/store.h"

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
std::optional<store::RequestRecordState> state_after(store::RequestRecordState state,
                                                     RequestRecordAction action);

/// The Request Status that the CRM shows in that state.
RequestRecordStatus crm_status_for(store::RequestRecordState state);

/// The state's name in the transition history, where a claimed request is shown as approved.
std::string_view reported_state_word(store::RequestRecordState state);

/// The action that an edit of Request Status to `wanted` asks for; nullopt when no person can ask for it.
std::optional<RequestRecordAction> action_for_edit(store::RequestRecordState state,
                                                   RequestRecordStatus wanted);

/// Why Request Status cannot become `wanted`, and what it can become, in one or two sentences.
std::string transition_error(store::RequestRecordState state, std::string_view wanted);
/// What every transition_error() of that state begins with. ASCII.
std::string transition_error_start(store::RequestRecordState state);

// Retries failed request records at once instead of after their back-off (REQ-53): by command, and
// after everything that may have corrected what failed. The worker takes them within half a second.

/// All of them, also those that wait for an edit; not those that rest after an edit was put back (REQ-17).
/// Returns how many. Throws DependencyError when the store fails.
std::int64_t retry_failed_request_records(store::RequestRecords& records);

enum class RequestRecordRetry {
  retried,
  unknown,     ///< giftsync has read no such record
  not_failed,  ///< it is not approved, or its last attempt did not fail
};
/// One record, by Request Number or Id.
RequestRecordRetry retry_request_record(store::RequestRecords& records, const std::string& number_or_id);

}  // namespace giftsync::sync
