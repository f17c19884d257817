// sync: completes request records with defaults: the recipient from the contact or lead that the record
// names, the sender from its creator (REQ-14).
#pragma once

#include <vector>

#include "schema/crm/request_records.h"

namespace giftsync::sync {

struct LoadedRequestRecord {
  schema::RequestRecord row;
  schema::RequestRecord completed;  ///< with its defaults
  bool person_found = true;         ///< the contact or lead that it names
};

/// One for each row, in order. Reads all contacts in one CRM call, and all leads in one.
std::vector<LoadedRequestRecord> load_with_defaults(schema::crm::RequestRecords& records,
                                                    std::vector<schema::RequestRecord> rows);

}  // namespace giftsync::sync
