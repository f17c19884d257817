// daemon/http: what a caller asks for in the body of POST /api/v1/request_records: the fields of a request
// record (Spec 2.6), members named by API name without prefix and suffix. Pure. Types and lengths are checked
// here; what the content is worth is told in the record's Error Log once it is approved (design 3.3).
#pragma once

#include <string_view>
#include <variant>

#include "daemon/http/field_note.h"
#include "daemon/http/strict_json.h"
#include "schema/request_record.h"

namespace giftsync::daemon {

struct RequestRecordBody {
  schema::RequestRecord record;  ///< Auto-Approved is unchecked unless the body checks it
  FieldNotes warnings;
};
std::variant<RequestRecordBody, JsonFault, FieldNotes> read_request_record_body(std::string_view body);

/// What an approver says: {"comment": "..."}; an empty body says nothing.
struct VerdictBody {
  std::string comment;
};
std::variant<VerdictBody, JsonFault, FieldNotes> read_verdict_body(std::string_view body);

}  // namespace giftsync::daemon
