// daemon: keeps the roles that the CRM gives to the console's users (SIGN-10). Where each call counts one
// daemon of the store asks for all (ORG-15). One thread at a time.
#pragma once

#include <cstdint>

#include "daemon/shared_parts.h"
#include "schema/store/shared_text.h"

namespace giftsync::daemon {

class CrmRoleRefresh {
 public:
  /// `shared` must outlive it.
  explicit CrmRoleRefresh(SharedParts& shared);

  /// Asks the CRM when it is time: every 30 s, or as the settings say where each call counts. While the CRM
  /// does not respond the roles stay. Throws platform::DependencyError of the store.
  void run(platform::UtcMillis now);

 private:
  bool asks_itself();

  SharedParts& shared_;
  const schema::store::SharedText read_at_;  ///< by any daemon
  platform::UtcMillis asked_at_{INT64_MIN / 2};
  std::int64_t refusal_millis_ = 0;  ///< the least wait after a refusal that only an admin can end
  bool has_begun_ = false;
};

/// The roles of one address for a sign-in; nullopt while the CRM does not respond. Any thread.
std::optional<std::vector<schema::store::UserRole>> crm_roles_of(SharedParts& shared,
                                                                 const std::string& address);

}  // namespace giftsync::daemon
