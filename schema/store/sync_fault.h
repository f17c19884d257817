// schema/store: what a whole batch of the sync loop failed for, kept with the gifts that wait for it.
#pragma once

#include <string>

#include "schema/database_address.h"

namespace giftsync::schema {

/// The gifts that `owner` has claimed are free again and keep `fault` as their last error. It counts as no
/// try of theirs: nothing is wrong with them, and they go on as soon as the CRM does.
void note_sync_fault(const DatabaseAddress& store, const std::string& owner, const std::string& fault);

}  // namespace giftsync::schema
