#include "daemon/identity/identity_linking.h"

#include <fmt/format.h>

#include "platform/quoted_text.h"

namespace giftsync::daemon::identity {
namespace {

using schema::store::AuditEvent;
using schema::store::ConsoleUser;
using schema::store::Store;
using schema::store::UserIdentity;

tl::unexpected<SignInRefusal> refuse(std::string rule, std::string text) {
  return tl::unexpected(SignInRefusal{std::move(rule), std::move(text)});
}

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

/// The user with the identity's address; a new one when roles follow from the address.
tl::expected<ConsoleUser, SignInRefusal> user_of_address(Store& store, const SignInPolicy& policy,
                                                         const VerifiedIdentity& identity,
                                                         const AuditEvent& audit, platform::UtcMillis now) {
  if (identity.address.empty()) {
    return refuse(
        "SIGN-4",
        "The provider gives no address that may link a user, and the subject is not linked. A first "
        "sign-in needs an address in the connection's domains.");
  }
  if (auto user = store.console_users.find_by_email(identity.address)) return std::move(*user);
  ConsoleUser user{.email = identity.address, .name = identity.name, .created_at = now};
  if (policy.first_roles) user.roles = policy.first_roles(identity.address);
  if (user.roles.empty()) {
    return refuse("SIGN-5",
                  fmt::format("There is no user {}, and no role follows from the CRM or an account. "
                              "\"giftsyncctl user create\" makes one.",
                              platform::in_quotes(identity.address)));
  }
  const auto id = store.console_users.create(
      user, event(audit, "user.create", user, "at the first sign-in through " + identity.connection));
  // Another daemon may have created it just now.
  auto created = id ? store.console_users.find(*id) : store.console_users.find_by_email(identity.address);
  if (!created) return refuse("SIGN-5", "The user was deleted meanwhile.");
  return std::move(*created);
}

tl::expected<void, SignInRefusal> check_user(Store& store, const SignInPolicy& policy,
                                             const ConsoleUser& user) {
  if (!user.active)
    return refuse("SIGN-5", fmt::format("The user {} is inactive.", platform::in_quotes(user.email)));
  if (user.roles.empty())
    return refuse("SIGN-5", fmt::format("The user {} has no role.", platform::in_quotes(user.email)));
  const auto account = store.accounts.find_by_email(user.email);
  if (account && !policy.plans.contains(account->plan)) {
    return refuse("SIGN-5", fmt::format("The account {} has the plan {}; console.sso_plans lets others sign "
                                        "in. \"giftsyncctl console sign-in-link\" does for this one.",
                                        platform::in_quotes(user.email), to_word(account->plan)));
  }
  return {};
}

}  // namespace

tl::expected<LinkedUser, SignInRefusal> link_identity(Store& store, const SignInPolicy& policy,
                                                      const VerifiedIdentity& identity, AuditEvent audit,
                                                      platform::UtcMillis now) {
  const std::optional<UserIdentity> known =
      store.user_identities.find(identity.connection, identity.tenant, identity.subject);
  std::optional<ConsoleUser> user = known ? store.console_users.find(known->user) : std::nullopt;
  if (!user) {
    auto found = user_of_address(store, policy, identity, audit, now);
    if (!found) return tl::unexpected(found.error());
    user = std::move(*found);
  }
  if (const auto allowed = check_user(store, policy, *user); !allowed) return tl::unexpected(allowed.error());
  if (known) {
    store.user_identities.set_last_sign_in(known->id, identity.address, now);
    return LinkedUser{user->id, known->id, user->email};
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
    return refuse(
        "SIGN-4",
        fmt::format("The user {} is linked to another subject of connection {}: the address may have "
                    "passed to another person. If it is the same one, use \"giftsyncctl user "
                    "unlink\".",
                    platform::in_quotes(user->email), identity.connection));
  }
  return LinkedUser{user->id, *linked, user->email};
}

}  // namespace giftsync::daemon::identity
