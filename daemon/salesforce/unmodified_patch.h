// daemon/salesforce: the update of one record that the org refuses with HTTP 412 when the record was changed
// after it was read. The org compares whole seconds: an edit in the second of the one that was read is not
// seen. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/salesforce/composite.h"
#include "platform/time.h"

namespace giftsync::daemon::salesforce {

/// Between an edit and its reading at least.
inline constexpr std::int64_t kQuietMillis = 2 * platform::kSecondMillis;
inline constexpr int kPreconditionFailed = 412;  ///< of HTTP

struct UnmodifiedPatch {
  std::string_view api_version;
  std::string object;         ///< API name
  std::string id;             ///< of the record
  std::string last_modified;  ///< as it came with the record
  std::string reference;      ///< of the part
  std::string body;           ///< JSON without an Id
};
PartRequest unmodified_part(const UnmodifiedPatch& patch);

}  // namespace giftsync::daemon::salesforce
