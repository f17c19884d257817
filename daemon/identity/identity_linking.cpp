#include "daemon/identity/identity_linking.h"

#include "platform/quoted_text.h"

namespace giftsync::daemon::identity {
namespace {

using schema::store::AuditEvent;
using schema::store::ConsoleUser;
using schema::store::Store;
using schema::store::UserIdentity;
using schema::store::UserRole;

AuditEvent event(AuditEvent audit, const std::string& action, const ConsoleUser& user, std::string detail) {
  audit.action = action;
  audit.actor = user.email;
  audit.object_kind = "user";
  audit.object_id = user.email;
  audit.organization = user.organization;
  audit.detail = std::move(detail);
  if (user.id.value != 0) audit.user = user.id;
  return audit;
}

std::optional<std::vector<UserRole>> crm_roles(const SignInPolicy& policy, const std::string& address) {
  return policy.crm_roles ? policy.crm_roles(address) : std::nullopt;
}

Outcome<void> check_user(Store& store, const SignInPolicy& policy, const ConsoleUser& user,
                         std::optional<schema::OrganizationId> organization) {
  if (organization && user.organization != organization) {
    return refuse("SIGN-11", "The user {} does not belong to the organization of the connection.",
                  platform::in_quotes(user.email));
  }
  if (!user.active) return refuse("SIGN-5", "The user {} is inactive.", platform::in_quotes(user.email));
  if (user.roles.empty())
    return refuse("SIGN-5", "The user {} has no role.", platform::in_quotes(user.email));
  const auto account = store.accounts.find_by_email(user.email);
  if (account && !policy.plans.contains(account->plan)) {
    return refuse("SIGN-5",
                  "The account {} has the plan {}; console.sso_plans lets others sign in. "
                  "\"giftsyncctl console sign-in-link\" does for this one.",
                  platform::in_quotes(user.email), to_word(account->plan));
  }
  return {};
}

/// Creates the user of a person who signs in for the first time and has none. Stores no user whose sign-in is
/// refused.
Outcome<ConsoleUser> make_user(Store& store, const SignInPolicy& policy, const VerifiedIdentity& identity,
                               std::optional<schema::OrganizationId> organization, const AuditEvent& audit,
                               platform::UtcMillis now) {
  ConsoleUser user{.email = identity.address, .name = identity.name, .organization = organization};
  user.created_at = now;
  if (policy.first_roles) user.roles = policy.first_roles(identity.address);
  if (const auto roles = crm_roles(policy, identity.address))
    user.roles.insert(user.roles.end(), roles->begin(), roles->end());
  if (user.roles.empty()) {
    return refuse("SIGN-5",
                  "There is no user {}, and no role follows from the CRM or an account. "
                  "\"giftsyncctl user create\" makes one.",
                  platform::in_quotes(identity.address));
  }
  if (!organization)
    if (const auto account = store.accounts.find_by_email(identity.address))
      user.organization = account->organization;
  if (const auto allowed = check_user(store, policy, user, organization); !allowed)
    return tl::unexpected(allowed.error());
  const auto id = store.console_users.create(
      user, event(audit, "user.create", user, "at the first sign-in through " + identity.connection));
  // Another daemon may have created it just now.
  auto created = id ? store.console_users.find(*id) : store.console_users.find_by_email(identity.address);
  if (!created) return refuse("SIGN-5", "The user was deleted meanwhile.");
  return std::move(*created);
}

/// The user with the roles that the CRM gives now.
ConsoleUser with_crm_roles(Store& store, const SignInPolicy& policy, ConsoleUser user,
                           const AuditEvent& audit, platform::UtcMillis now) {
  if (!user.active) return user;
  const auto roles = crm_roles(policy, user.email);
  if (!roles) return user;
  AuditEvent changed = schema::store::crm_roles_event(user, now);
  changed.request_id = audit.request_id;
  if (!store.console_users.replace_crm_roles(user.id, *roles, changed)) return user;
  return store.console_users.find(user.id).value_or(user);
}

}  // namespace

Outcome<LinkedUser> link_identity(Store& store, const SignInPolicy& policy, const VerifiedIdentity& identity,
                                  std::optional<schema::OrganizationId> organization, const AuditEvent& audit,
                                  platform::UtcMillis now) {
  const std::optional<UserIdentity> known =
      store.user_identities.find(identity.connection, identity.tenant, identity.subject);
  std::optional<ConsoleUser> user = known ? store.console_users.find(known->user) : std::nullopt;
  if (!user && identity.address.empty()) {
    return refuse(
        "SIGN-4",
        "The provider gives no address that may link a user, and the subject is not linked. A first "
        "sign-in needs an address in the connection's domains.");
  }
  if (!user) user = store.console_users.find_by_email(identity.address);
  if (user) {
    user = with_crm_roles(store, policy, std::move(*user), audit, now);
  } else {
    auto made = make_user(store, policy, identity, organization, audit, now);
    if (!made) return tl::unexpected(made.error());
    user = std::move(*made);
  }
  if (const auto allowed = check_user(store, policy, *user, organization); !allowed)
    return tl::unexpected(allowed.error());
  if (known) {
    store.user_identities.set_last_sign_in(known->id, identity.address, now);
    return LinkedUser{user->id, known->id, user->email, user->organization};
  }
  const auto linked =
      store.user_identities.link({.user = user->id,
                                  .connection = identity.connection,
                                  .tenant = identity.tenant,
                                  .subject = identity.subject,
                                  .last_email = identity.address,
                                  .linked_at = now,
                                  .last_sign_in_at = now},
                                 event(audit, "user.link", *user, "through " + identity.connection));
  if (!linked) {
    return refuse("SIGN-4",
                  "The user {} is linked to another subject of connection {}: the address may have passed to "
                  "another person. If it is the same one, use \"giftsyncctl user unlink\".",
                  platform::in_quotes(user->email), identity.connection);
  }
  return LinkedUser{user->id, *linked, user->email, user->organization};
}

}  // namespace giftsync::daemon::identity
