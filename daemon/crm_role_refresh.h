// daemon: keeps the roles that the CRM gives to the console's users (SIGN-10). One thread at a time.
#pragma once

#include <cstdint>

#include "daemon/shared_parts.h"

namespace giftsync::daemon {

class CrmRoleRefresh {
 public:
  /// `shared` must outlive it.
  explicit CrmRoleRefresh(SharedParts& shared) : shared_(shared) {}

  /// Asks the CRM when it is time: every 30 s, or as the settings say where each call counts. While the CRM
  /// does not respond the roles stay. Throws platform::DependencyError of the store.
  void run(platform::UtcMillis now);

 private:
  SharedParts& shared_;
  platform::UtcMillis asked_at_{INT64_MIN / 2};
};

/// The roles of one address for a sign-in; nullopt while the CRM does not respond. Any thread.
std::optional<std::vector<schema::store::UserRole>> crm_roles_of(SharedParts& shared,
                                                                 const std::string& address);

}  // namespace giftsync::daemon
