#include "daemon/salesforce/unmodified_patch.h"

#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/Timestamp.h>
#include <fmt/format.h>

#include "daemon/salesforce/record_json.h"

namespace giftsync::daemon::salesforce {
namespace {

/// "Sat, 21 Nov 2026 12:31:07 GMT".
std::string http_date(const std::string& last_modified) {
  const platform::UtcMillis time = read_time(last_modified).value_or(platform::UtcMillis{0});
  return Poco::DateTimeFormatter::format(Poco::Timestamp(time.value * 1000),
                                         Poco::DateTimeFormat::HTTP_FORMAT);
}

}  // namespace

PartRequest unmodified_part(const UnmodifiedPatch& patch) {
  return {.method = "PATCH",
          .url = fmt::format("{}/sobjects/{}/{}", data_path(patch.api_version), patch.object, patch.id),
          .reference = patch.reference,
          .headers = {{"If-Unmodified-Since", http_date(patch.last_modified)}},
          .body = patch.body,
          .is_heavy = false,
          .is_alone = reads_as_reference(patch.body)};
}

}  // namespace giftsync::daemon::salesforce
