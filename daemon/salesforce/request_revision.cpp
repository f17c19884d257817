#include "daemon/salesforce/request_revision.h"

#include "daemon/salesforce/record_json.h"
#include "platform/text.h"

namespace giftsync::daemon::salesforce {

bool RequestRevision::is_distinct() const {
  const std::optional<platform::UtcMillis> modified = read_time(last_modified);
  return modified && read_at.value - modified->value >= kRecentEditMillis;
}

std::string to_text(const RequestRevision& revision) {
  return revision.last_modified + ' ' + std::to_string(revision.read_at.value);
}

std::optional<RequestRevision> parse_revision(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == 0 || space == std::string::npos) return std::nullopt;
  const auto read_at = platform::parse_number<std::int64_t>(std::string_view(text).substr(space + 1));
  if (!read_at) return std::nullopt;
  return RequestRevision{text.substr(0, space), {*read_at}};
}

}  // namespace giftsync::daemon::salesforce
