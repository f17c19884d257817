// sync: reconciles one request record: compares what the CRM shows now with the store's entry and derives
// what to do (REQ-29). Any order and any number of repetitions ends in the same state. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crm/crm.h"
#include "platform/log_line.h"
#include "schema/store/crm/request_records.h"
#include "sync/request/request_record_state_machine.h"

namespace giftsync::sync {

/// A CRM write that the store has recorded as pending counts as lost when it is not visible after this time;
/// a claim after the longer time.
inline constexpr std::int64_t kWriteInFlightMillis = 5 * kSecondMillis;
inline constexpr std::int64_t kClaimInFlightMillis = 10 * kSecondMillis;
/// A claim that the CRM postponed is tried again then.
inline constexpr std::int64_t kPostponedClaimMillis = 2 * kSecondMillis;
/// After an illegal edit of an approved request was reverted, it is not sent for this time, so that its
/// editor can still reject it.
inline constexpr std::int64_t kRevertedEditDelayMillis = kMinuteMillis;

/// The beginning of the Error Log of a record that a person has to approve (GUARD-30).
inline constexpr std::string_view kHeldError = "Auto-Approved is not applied: ";

struct RequestRecordSnapshot {
  RequestRecord row;  ///< as the CRM has it
  std::string
      content;  ///< what an approval binds to, including what the row takes from its contact or creator
  store::RequestRecordEntry known;  ///< version 0 when it is seen for the first time
  bool has_gift = false;            ///< a gift was sent for it
  bool auto_approved_default = false;
  std::optional<GiftId> gift_sent = {};  ///< in the catalogue; empty when not known
  /// The item link to write until the record is claimed; an empty one clears the field.
  std::optional<std::string> item_link = {};
  std::string integration_user = {};  ///< Last Modified By of giftsync's own writes; may be empty
};

struct RequestRecordReconciliation {
  store::RequestRecordEntryUpdate change;  ///< what to store; `is_changed` when it differs from the entry
  bool is_changed = false;
  crm::RequestRecordUpdate write;  ///< `is_written` when there is something to write
  bool is_written = false;
  bool may_claim = false;         ///< approved and due
  bool must_send = false;         ///< claimed: its gift must be sent
  std::vector<LogLine> warnings;  ///< for the operator's log
};

RequestRecordReconciliation reconcile_request_record(const RequestRecordSnapshot& snapshot, UtcMillis now);
/// The same for a request record that is no longer in the CRM.
RequestRecordReconciliation reconcile_deleted_request_record(const store::RequestRecordEntry& known,
                                                             bool has_gift, UtcMillis now);

/// Whether an Error Log says that the approval was withdrawn, because the record was edited or a rule asks
/// for a person: it waits again, which is no fault.
bool is_withdrawal(std::string_view error_log);

/// A line about one request record; its sentence begins with "request R-000007".
LogLine request_record_line(LogEvent event, const std::string& number, const std::string& text);

/// A text that fits into Error Log.
std::string error_log_text(std::string_view text);

}  // namespace giftsync::sync
