// daemon/identity: finds the user of the console to whom an identity belongs, and links the two at the first
// sign-in (SIGN-4, SIGN-5). Any thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/identity/verified_identity.h"
#include "schema/enums.h"
#include "schema/store/store.h"

namespace giftsync::daemon::identity {

/// Who may sign in through a provider.
struct SignInPolicy {
  /// An account of another plan signs in by link only.
  std::set<schema::Plan> plans = {schema::Plan::enterprise, schema::Plan::enterprise_plus};
  /// The roles that a person without a user row comes to: none refuses them.
  std::function<std::vector<schema::store::UserRole>(const std::string& address)> first_roles;
};

struct LinkedUser {
  schema::UserId user;
  schema::IdentityId identity;
  std::string address;  ///< the user's own
};

/// `audit` has who and where; action, object and detail are set here. What changes is audited with it.
tl::expected<LinkedUser, SignInRefusal> link_identity(schema::store::Store& store, const SignInPolicy& policy,
                                                      const VerifiedIdentity& identity,
                                                      schema::store::AuditEvent audit,
                                                      platform::UtcMillis now);

}  // namespace giftsync::daemon::identity
