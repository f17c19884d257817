// daemon/console: what a role may do (CON-13). One table. Pure.
#pragma once

#include "schema/console_role.h"

namespace giftsync::daemon::console {

enum class Permission {
  open,             ///< without a session: signing in, and what its page loads
  signed_in,        ///< any user with a session, also one without a role
  see_own,          ///< pages that a Viewer limits to what the user may see
  see_users,        ///< who uses the console
  manage_users,     ///< ends sessions of others
  act_on_gifts,     ///< resends and cancels gifts
  see_crm,          ///< how gifts are matched, what their records hold and which fail
  act_on_crm,       ///< matches gifts again and retries their records
  decide_requests,  ///< approves and rejects request records
  see_operations,   ///< mails and sources
  operate,          ///< changes mails and sources
  see_settings,     ///< settings in force and sign-in connections
};

bool may(const schema::RoleSet& roles, Permission permission);

}  // namespace giftsync::daemon::console
