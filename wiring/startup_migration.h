// wiring: migrates and checks the store and the CRM at the daemon's start, and logs warnings. Main thread.
#pragma once

#include <string>

#include "daemon/config/settings.h"
#include "platform/dependency_error.h"
#include "schema/sql/dsn.h"

namespace giftsync::wiring {

/// Migrates the store and the CRM's tables and returns the store's address. Throws ConfigError for what an
/// admin must fix, platform::DependencyError when a database is unreachable.
schema::sql::Dsn migrate_and_check_databases(const daemon::config::Settings& settings);

/// Describes a fault that stops the sync of every gift, with the remedy. Checks the whole external CRM, since
/// privileges or a column may be missing; this takes time. Any thread.
std::string describe_sync_fault(const daemon::config::Settings& settings,
                                const platform::DependencyError& fault);

}  // namespace giftsync::wiring
