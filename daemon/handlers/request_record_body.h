// daemon/handlers: parses the body of POST /api/v1/request_records: the fields of a request record (REQ-1),
// named by API name without prefix and suffix. Pure. Types and lengths are checked here. The content is
// checked once the record is approved, with errors in its Error Log (REQ-35).
#pragma once

#include <string_view>
#include <tl/expected.hpp>

#include "daemon/http/field_issue.h"
#include "schema/request_record.h"

namespace giftsync::daemon::handlers {

struct RequestRecordBody {
  schema::RequestRecord record;  ///< Auto-Approved is unchecked unless the body sets it
  http::FieldIssues warnings;
};
tl::expected<RequestRecordBody, http::BodyError> parse_request_record_body(std::string_view body);

/// The body of an approver's decision: {"comment": "..."}; an empty body has no comment.
struct ApprovalDecisionBody {
  std::string comment;
};
tl::expected<ApprovalDecisionBody, http::BodyError> parse_approval_decision_body(std::string_view body);

}  // namespace giftsync::daemon::handlers
