// sync: everything that keeps a request record from being sent, at once (REQ-52). The worker that sends,
// `giftsyncctl request check` and the warnings of an approval use the same functions. Pure;
// request_record_check.h collects the facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/request_record.h"
#include "schema/store/crm/request_records.h"
#include "schema/store/gift/catalogue.h"
#include "sync/access/send_authorization.h"

namespace giftsync::sync {

struct GiftRequestLimits {
  std::size_t message_code_points = 10'000;
  std::size_t name_code_points = 255;
};

struct RequestRecordFinding {
  std::string check;        ///< for programs: "gift", "approval", or a word of Precondition
  std::string message;      ///< what was found and what is allowed
  std::string command;      ///< the next step; upper-case words are to be replaced. Empty: edit the record
  bool is_retried = false;  ///< not a fault of the record: tried again without an edit
};

/// What the sending of an approved record depends on.
struct SendingFacts {
  const store::GiftItem* item = nullptr;  ///< null when the catalogue has no such gift
  bool person_found = true;    ///< false: the contact or lead that the record names is not in the CRM
  SenderAuthorization sender;  ///< of its Sender; without a Sender it is not read
  GiftRequestLimits limits;
  std::optional<std::string> refusal = {};  ///< why nothing is sent to its recipient (GUARD-1)
};

/// What is wrong with the record's content, then with its sender. If it is empty the record may be sent, and
/// item and account are set. `completed`: with its defaults.
std::vector<RequestRecordFinding> sending_findings(const RequestRecord& completed, const SendingFacts& facts);

/// How far a record has come.
struct RequestRecordProgress {
  bool requests_enabled = true;              ///< requests.enabled
  std::string unreadable;                    ///< the field that is no UTF-8 text; empty if there is none
  store::RequestRecordEntry current;         ///< with the edits that no daemon has read yet
  std::optional<UtcMillis> next_attempt_at;  ///< as stored
  bool has_gift = false;                     ///< it was sent
};

/// What keeps the record from being sent, whatever its content: settings, status, approval. Nothing keeps a
/// record that was sent.
std::vector<RequestRecordFinding> progress_findings(const RequestRecordProgress& progress);

/// The finding that a failed record, which has no others, is not tried yet: it waits for its next attempt or
/// for an edit. Nullopt if it is tried at once.
std::optional<RequestRecordFinding> waiting_finding(const RequestRecordProgress& progress, UtcMillis now);

/// For Error Log: the first finding, and how many more there are where that fits (REQ-37).
std::string error_log_of(const std::vector<RequestRecordFinding>& findings, const std::string& number);

}  // namespace giftsync::sync
