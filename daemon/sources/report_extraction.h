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

/// How many reports one webhook message or one page of a poll may hold. A report of a single byte ("0") takes
/// some kilobytes once it is judged, so without a limit a message of two megabytes would take gigabytes. The
/// largest batch of a mail provider (SendGrid's, 768 KiB) holds some thousand events.
inline constexpr std::size_t kMaxReports = 10'000;
struct TooManyReports {
  std::size_t found = 0;
};

/// A number, truth value or text as text; empty for everything else.
std::string text_of(const JsonValue& value);

/// The reports of a document: one object, or a list of them, where the plan's `items` point. They are counted
/// before anything is made of them. What may be read in two ways costs the one report in which it stands: no
/// field of it is read. A sentence when there are none to be found, or when it stands around them.
std::variant<std::vector<RawReport>, TooManyReports, std::string> extract_reports(const JsonValue& root,
                                                                                  const SourcePlan& plan);

/// A report that was kept aside, as the plan's pointers read it now. As it was read then when its own form
/// was not kept.
RawReport read_again(RawReport kept, const SourcePlan& plan);

}  // namespace giftsync::daemon
