// daemon/http: an issue with one field of a request's body: an error (the request is refused) or a warning
// (it is not).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "platform/strict_json.h"

namespace giftsync::daemon::http {

struct FieldIssue {
  std::string field;    ///< "gift_id", "recipients[3].email"; empty for the body as a whole
  std::string code;     ///< stable, for programs: "missing", "invalid_email"
  std::string message;  ///< sentence for people: what was found, what is allowed
};

using FieldIssues = std::vector<FieldIssue>;

/// Why a body is refused: it is not JSON, or its content has these errors (never empty).
using BodyError = std::variant<platform::JsonError, FieldIssues>;

}  // namespace giftsync::daemon::http
