// daemon: the CRM that the settings name: our own tables, or somebody else's. The one place that chooses
// between the adapters. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/settings/settings.h"
#include "schema/crm.h"

namespace giftsync::daemon {

/// Connects with the first call.
std::unique_ptr<schema::Crm> make_crm(const Settings& settings);

/// False when the settings say that somebody else's CRM has no table of users.
bool crm_has_users(const Settings& settings);

struct CrmCheck {
  std::vector<std::string> faults;       ///< a sentence each, with its settings key
  std::vector<std::string> of_commands;  ///< what only some commands cannot do, with its remedy
  std::vector<std::string> slow;         ///< what will be slow, with its remedy

  /// What keeps the daemon from nothing.
  std::vector<std::string> warnings() const;
};
/// Whether the settings' fields, tables and columns are there, and this program's user has the rights that it
/// needs. Throws schema::BrokenWorld when the database does not answer.
CrmCheck check_crm(const Settings& settings);

/// Brings the managed CRM's tables up to date; in a CRM that someone else owns giftsync makes nothing.
void migrate_crm(const Settings& settings);

}  // namespace giftsync::daemon
