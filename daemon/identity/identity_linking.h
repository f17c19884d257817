// daemon/identity: finds the user of the console to whom an identity belongs, and links the two at the first
// sign-in (SIGN-4, SIGN-5, SIGN-10, SIGN-11). Any thread.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/identity/verified_identity.h"
#include "schema/enums.h"
#include "schema/store/store.h"

namespace giftsync::daemon::identity {

/// Who may sign in through a provider.
struct SignInPolicy {
  /// An account of another plan signs in by link only.
  std::set<schema::Plan> plans = {schema::Plan::enterprise, schema::Plan::enterprise_plus};
  /// The roles that a person without a user row comes to, besides those of the CRM: without any they are
  /// refused.
  std::function<std::vector<schema::store::UserRole>(const std::string& address)> first_roles;
  /// Those that the CRM gives now; nullopt while it does not respond: what the user has stays.
  std::function<std::optional<std::vector<schema::store::UserRole>>(const std::string& address)> crm_roles;
};

struct LinkedUser {
  schema::UserId user;
  schema::IdentityId identity;
  std::string address;  ///< the user's own
  std::optional<schema::OrganizationId> organization = {};
};

/// `organization`: of all users of the connection; absent: a new user gets that of the account with the
/// address. `audit` has who and where; action, object and detail are set here. What changes is audited with
/// it.
Outcome<LinkedUser> link_identity(schema::store::Store& store, const SignInPolicy& policy,
                                  const VerifiedIdentity& identity,
                                  std::optional<schema::OrganizationId> organization,
                                  const schema::store::AuditEvent& audit, platform::UtcMillis now);

}  // namespace giftsync::daemon::identity
