// schema/store: the audit event of a retry of refused gift records, which a command and the console write and
// the console reads (CON-50).
#pragma once

namespace giftsync::schema::store {

inline constexpr const char* kCrmRetryAction = "crm.retry";
/// The object's id is the number of a class of failures; without one all classes were retried.
inline constexpr const char* kFailuresObject = "failures";
/// The detail where no class is named, before the number of records: "records: 2".
inline constexpr const char* kRetriedRecords = "records";

}  // namespace giftsync::schema::store
