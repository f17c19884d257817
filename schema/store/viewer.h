// schema/store: on whose behalf a listing of the console is read. Each such listing takes a Viewer and adds
// its condition to the SQL, so that no caller can forget it (CON-7).
#pragma once

#include <optional>
#include <string>

#include "schema/console_role.h"
#include "schema/ids.h"

namespace giftsync::schema::store {

struct Viewer {
  UserId user = {};
  std::optional<AccountId> account = {};            ///< the sender account with the user's address
  std::optional<OrganizationId> organization = {};  ///< absent: all organizations
  RoleSet roles = {};

  bool has(Role role) const { return roles.contains(role); }
  /// Sees the gifts of other senders.
  bool sees_all_senders() const { return has(Role::admin) || has(Role::operations) || has(Role::auditor); }
  /// Sees no addresses, names and messages of recipients: an auditor who has no role that does.
  bool is_masked() const { return has(Role::auditor) && !has(Role::admin) && !has(Role::operations); }
  /// An administrator at the server's command line, who can read the whole store.
  static Viewer of_command_line() { return {{}, {}, {}, {Role::operations}}; }
};

/// An error of the CRM without what may name a recipient: up to the first colon, "***" without one, and
/// without addresses (CON-16).
std::string error_code(const std::string& error);
/// The error as the viewer reads it: a masked one its code.
std::string shown_error(const Viewer& viewer, const std::string& error);
/// A text that something else than giftsync may have written as the viewer reads it: for a masked one each
/// address in it, also with %40, is cut to "***@example.com" (CON-51).
std::string shown_text(const Viewer& viewer, const std::string& text);

/// A condition on gift_request `r`: the gifts that the viewer sees. Digits and constants only.
std::string gifts_condition(const Viewer& viewer);
/// A condition on request_record_state `s`: the request records that the viewer sees. `owner`: the
/// organization for which request records are sent (requests.organization_token).
std::string request_records_condition(const Viewer& viewer, std::optional<OrganizationId> owner);
/// A condition on audit_event `e`: the events that the viewer sees.
std::string audit_condition(const Viewer& viewer);
/// A condition on console_user `u`: the users that the viewer sees.
std::string users_condition(const Viewer& viewer);

}  // namespace giftsync::schema::store
