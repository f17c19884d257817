// sync: retries failed request records at once instead of after their back-off (REQ-53): by command, and
// after everything that may have corrected what failed. The worker takes them within half a second.
#pragma once

#include <cstdint>
#include <string>

#include "schema/store/store.h"

namespace giftsync::sync {

/// All of them, also those that wait for an edit; not those that rest after an edit was put back (REQ-17).
/// Returns how many. Throws platform::DependencyError when the store fails.
std::int64_t retry_failed_request_records(schema::store::Store& store);

enum class RequestRecordRetry {
  retried,
  unknown,     ///< giftsync has read no such record
  not_failed,  ///< it is not approved, or its last attempt did not fail
};
/// One record, by Request Number or Id.
RequestRecordRetry retry_request_record(schema::store::Store& store, const std::string& number_or_id);

}  // namespace giftsync::sync
