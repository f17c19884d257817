// daemon/http: why the body of a JSON endpoint is refused.
#pragma once

#include <variant>

#include "daemon/http/field_issue.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::http {

/// The body is not JSON, or its content has these errors (never empty).
using BodyError = std::variant<platform::JsonError, FieldIssues>;

}  // namespace giftsync::daemon::http
