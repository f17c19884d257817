// sync: an approver's decision on a request record, by command or over HTTP (REQ-7, REQ-14). The store
// resolves races between approvers, daemons and edits; the CRM is written afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crm/request_records.h"
#include "schema/store/store.h"
#include "sync/request/request_record_step.h"

namespace giftsync::sync {

struct ApprovalDecision {
  RequestRecordAction action = RequestRecordAction::approve;  ///< approve or reject
  std::string who;
  std::string comment;
  /// Versions of the content that the decision may apply to, as content_version() makes them; empty: any.
  std::vector<std::string> versions = {};
  std::optional<store::AuditEvent> audit = {};  ///< inserted with the decision
};

struct ApprovalResult {
  enum class Kind {
    done,
    unknown,        ///< there is no such request record
    illegal,        ///< `reason` names what is possible
    changed,        ///< it was changed concurrently; `reason` says what applies
    other_content,  ///< its content is none of the `versions`: nothing was decided
  };
  Kind kind = Kind::done;
  std::string reason;
  std::string id;
  std::string number;
  RequestRecordStatus status = RequestRecordStatus::pending;  ///< after it
  bool is_already_so = false;  ///< `illegal` because the decision was made before
  bool is_stored = false;      ///< `changed`, but the store has the decision and its event; the CRM not yet
};

/// The version of a content (approved_content_of()).
std::string version_of_content(const std::string& content);
/// 32 hex digits of a hash of the content that an approval binds to. Reads what the record refers to.
std::string content_version(crm::RequestRecords& records, const RequestRecord& row);

/// An approval binds to the record's content as read here.
ApprovalResult decide_request_record(store::RequestRecords& request_records, crm::RequestRecords& records,
                                     const std::string& number_or_id, const ApprovalDecision& decision,
                                     UtcMillis now);

}  // namespace giftsync::sync
