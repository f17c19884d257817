// daemon/sources: from a vendor's JSON document to raw reports, by the pointers of the settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/http/strict_json.h"
#include "daemon/sources/source_plan.h"

namespace giftsync::daemon {

/// A number, truth value or text as text; empty for everything else.
std::string text_of(const JsonValue& value);

/// The reports of a document: one object, or a list of them, where the plan's `items` point. A sentence when
/// there are none to be found.
std::variant<std::vector<RawReport>, std::string> extract_reports(const JsonValue& root,
                                                                  const SourcePlan& plan);

}  // namespace giftsync::daemon
