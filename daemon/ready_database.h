// daemon: the store and the CRM as a daemon finds them when it starts: brought up to date, checked, and what
// there is to say of them told in the log. Main thread.
#pragma once

#include <string>

#include "daemon/settings/settings.h"
#include "schema/broken_world.h"
#include "schema/database_address.h"

namespace giftsync::daemon {

/// The address of the store, migrated like the CRM's tables. Throws UnusableSettings for what a person has to
/// mend, schema::BrokenWorld when a database does not answer.
schema::DatabaseAddress ready_database(const Settings& settings);

/// What stops the sync of every gift, in words that say what mends it. Rights may have been taken away, or a
/// column, of somebody else's CRM: then all of it is checked, which takes its time. Any thread.
std::string sync_fault_words(const Settings& settings, const schema::BrokenWorld& fault);

}  // namespace giftsync::daemon
