#include "daemon/identity/provider_sign_in.h"

#include <algorithm>

#include "daemon/identity/saml/authn_request.h"
#include "daemon/signin/home_realm.h"
#include "platform/digest.h"
#include "platform/json.h"
#include "platform/strict_json.h"
#include "platform/url_parameters.h"
#include "platform/visible_text.h"

namespace giftsync::identity {

std::string to_text(const VerifiedIdentity& identity) {
  nlohmann::json all = {{"connection", identity.connection},
                        {"subject", identity.subject},
                        {"tenant", identity.tenant},
                        {"address", identity.address},
                        {"name", identity.name}};
  if (identity.authenticated_at) all["authenticated_at"] = identity.authenticated_at->value;
  if (identity.session_until) all["session_until"] = identity.session_until->value;
  if (!identity.groups.empty()) all["groups"] = identity.groups;
  return all.dump();
}

std::optional<VerifiedIdentity> identity_from_text(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return std::nullopt;
  const auto member = [&](std::string_view name) { return std::string(json->root().text_of(name)); };
  VerifiedIdentity identity{member("connection"), member("subject"), member("tenant"),
                            member("address"),    member("name"),    {}};
  if (identity.connection.empty() || identity.subject.empty()) return std::nullopt;
  const auto time = [&](std::string_view name) -> std::optional<UtcMillis> {
    const JsonValue* value = json->root().find(name);
    if (value == nullptr || !value->integer()) return std::nullopt;
    return UtcMillis{*value->integer()};
  };
  identity.authenticated_at = time("authenticated_at");
  identity.session_until = time("session_until");
  if (const JsonValue* groups = json->root().find("groups"))
    for (const JsonValue& group : groups->elements()) identity.groups.emplace_back(group.text().value_or(""));
  return identity;
}

namespace {

using store::AuditEvent;
using store::ConsoleUser;
using store::Store;
using store::UserIdentity;
using store::UserRole;

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

tl::unexpected<SignInRefusal> refuse_without_role(std::string text) {
  return tl::unexpected(SignInRefusal{.rule = "SIGN-5", .text = std::move(text), .has_no_role = true});
}

Outcome<void> check_organization(const ConsoleUser& user, std::optional<OrganizationId> organization) {
  if (!organization || user.organization == organization) return {};
  return refuse("SIGN-11", "The user {} does not belong to the organization of the connection.",
                in_quotes(user.email));
}

Outcome<void> check_user(Store& store, const SignInPolicy& policy, const ConsoleUser& user,
                         std::optional<OrganizationId> organization) {
  if (auto allowed = check_organization(user, organization); !allowed) return allowed;
  if (!user.active) return refuse("SIGN-5", "The user {} is inactive.", in_quotes(user.email));
  if (user.roles.empty())
    return refuse_without_role(
        fmt::format("The user {} has no role: none is granted, and none follows from groups of the provider "
                    "(sso.connections.groups) or from the CRM.",
                    in_quotes(user.email)));
  const auto account = store.accounts.find_by_email(user.email);
  if (account && !policy.plans.contains(account->plan)) {
    return refuse("SIGN-5",
                  "The account {} has the plan {}; console.sso_plans lets others sign in. "
                  "\"giftsyncctl console sign-in-link\" does for this one.",
                  in_quotes(user.email), to_word(account->plan));
  }
  return {};
}

/// Creates the user of a person who signs in for the first time and has none. Stores no user whose sign-in is
/// refused.
Outcome<ConsoleUser> make_user(Store& store, const SignInPolicy& policy, const VerifiedIdentity& identity,
                               std::optional<OrganizationId> organization, const AuditEvent& audit,
                               UtcMillis now, const std::vector<UserRole>& group_roles) {
  ConsoleUser user{.email = identity.address, .name = identity.name, .organization = organization};
  user.created_at = now;
  if (policy.first_roles) user.roles = policy.first_roles(identity.address);
  if (const auto roles = crm_roles(policy, identity.address))
    user.roles.insert(user.roles.end(), roles->begin(), roles->end());
  user.roles.insert(user.roles.end(), group_roles.begin(), group_roles.end());
  if (user.roles.empty())
    return refuse_without_role(
        fmt::format("There is no user {}, and no role follows from groups of the provider, the CRM or an "
                    "account. \"giftsyncctl user create\" makes one.",
                    in_quotes(identity.address)));
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
                           const AuditEvent& audit, UtcMillis now) {
  if (!user.active) return user;
  const auto roles = crm_roles(policy, user.email);
  if (!roles) return user;
  AuditEvent changed = store::crm_roles_event(user, now);
  changed.request_id = audit.request_id;
  if (!store.console_users.replace_roles(user.id, RoleOrigin::crm, *roles, changed)) return user;
  return store.console_users.find(user.id).value_or(user);
}

/// The user with these roles from groups.
ConsoleUser with_group_roles(Store& store, ConsoleUser user, const std::string& connection,
                             const AuditEvent& audit, const std::vector<UserRole>& roles) {
  if (!user.active) return user;
  AuditEvent changed = event(audit, "user.group-roles", user, "");
  changed.actor_kind = store::ActorKind::system;
  changed.actor = "connection " + connection;
  changed.user = std::nullopt;
  if (!store.console_users.replace_roles(user.id, RoleOrigin::group, roles, changed)) return user;
  return store.console_users.find(user.id).value_or(user);
}

tl::unexpected<SignInRefusal> refuse_other_subject(const ConsoleUser& user, const std::string& connection) {
  return refuse("SIGN-4",
                "The user {} is linked to another subject of connection {}: the address may have passed to "
                "another person. If it is the same one, use \"giftsyncctl user unlink\".",
                in_quotes(user.email), connection);
}

}  // namespace

Outcome<LinkedUser> link_identity(Store& store, const SignInPolicy& policy, const VerifiedIdentity& identity,
                                  std::optional<OrganizationId> organization, const AuditEvent& audit,
                                  UtcMillis now, const std::vector<UserRole>& group_roles) {
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
    // Whom these refuse is another person, whose groups must not change the user's roles (SIGN-16).
    if (const auto allowed = check_organization(*user, organization); !allowed)
      return tl::unexpected(allowed.error());
    if (!known && store.user_identities.is_linked(user->id, identity.connection))
      return refuse_other_subject(*user, identity.connection);
    user = with_crm_roles(store, policy, std::move(*user), audit, now);
    user = with_group_roles(store, std::move(*user), identity.connection, audit, group_roles);
  } else {
    auto made = make_user(store, policy, identity, organization, audit, now, group_roles);
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
  if (!linked) return refuse_other_subject(*user, identity.connection);  // at this moment
  return LinkedUser{user->id, *linked, user->email, user->organization};
}

std::vector<UserRole> group_roles(const config::SsoConnectionSettings& connection,
                                  const VerifiedIdentity& identity, UtcMillis now) {
  std::vector<UserRole> roles;
  for (const auto& [group, word] : connection.groups) {
    const auto role = role_from_word(word);
    const bool is_in =
        std::find(identity.groups.begin(), identity.groups.end(), group) != identity.groups.end();
    const bool is_given =
        std::any_of(roles.begin(), roles.end(), [&](const UserRole& one) { return one.role == role; });
    if (role && is_in && !is_given) roles.push_back({*role, RoleOrigin::group, group, now});
  }
  return roles;
}

namespace {

using store::AuditEvent;
using store::SignInAttempt;

std::string hash_of(std::string_view token) {
  return sha256_hex(token);
}

AuditEvent audit_of(const RequestOrigin& origin, UtcMillis now) {
  return {
      .occurred_at = now, .request_id = origin.request_id, .network = origin.network, .action = "sign-in"};
}

/// Not recorded: the provider's own fault, which the others wait for, will be.
tl::unexpected<SignInRefusal> refuse_for_crowd(const std::string& connection) {
  return tl::unexpected(SignInRefusal{
      "SIGN-14", "Other sign-ins wait for the provider of connection " + connection + ", or for others.",
      true});
}

}  // namespace

ProviderSignIn::ProviderSignIn(const config::SsoSettings& sso, store::Store& store, oidc::Send send,
                               SignInPolicy policy)
    : sso_(sso), store_(store), oidc_(sso, std::move(send)), policy_(std::move(policy)) {
  for (const config::SsoConnectionSettings& connection : sso.connections)
    if (connection.kind == config::SsoKind::saml)
      saml_connections_.emplace(connection.name, saml::saml_connection(sso, connection));
}

Outcome<SignInStart> ProviderSignIn::begin(std::string_view connection, std::string_view return_path,
                                           bool must_reauthenticate, UtcMillis now) {
  const config::SsoConnectionSettings* settings = signin::find_by_name(sso_, connection);
  if (settings == nullptr) return refuse("SIGN-3", "There is no such connection.");
  const bool asks_provider = settings->kind != config::SsoKind::saml;
  const ProviderPlaces::Place place = asks_provider ? places_.try_take(settings->name) : nullptr;
  if (asks_provider && !place) return refuse_for_crowd(settings->name);
  auto started = settings->kind == config::SsoKind::saml ? begin_saml(*settings, must_reauthenticate, now)
                                                         : begin_oidc(*settings, must_reauthenticate, now);
  if (!started) {
    store_.sign_in_connections.record_error(settings->name,
                                            started.error().rule + ": " + started.error().text, now);
    return tl::unexpected(started.error());
  }
  const std::string browser_token = oidc::random_token();
  SignInAttempt attempt = std::move(started->attempt);
  attempt.id_hash = hash_of(started->token);
  attempt.connection = settings->name;
  attempt.browser_hash = hash_of(browser_token);
  attempt.return_path = std::string(return_path);
  attempt.must_reauthenticate = must_reauthenticate;
  attempt.created_at = now;
  store_.sign_in_attempts.create(attempt);
  return SignInStart{started->url, browser_token};
}

Outcome<ProviderSignIn::Started> ProviderSignIn::begin_oidc(const config::SsoConnectionSettings& connection,
                                                            bool must_reauthenticate, UtcMillis now) {
  oidc::AuthorizationRequest request = oidc::make_authorization_request(now, must_reauthenticate);
  // One URL serves all connections with `redirect: login`, so the state says whose reply comes back.
  request.state = connection.name + "." + request.state;
  const auto url = oidc_.begin(connection, request);
  if (!url) return tl::unexpected(url.error());
  return Started{*url, request.state, {.nonce = request.nonce, .pkce_verifier = request.code_verifier}};
}

ProviderSignIn::Started ProviderSignIn::begin_saml(const config::SsoConnectionSettings& connection,
                                                   bool must_reauthenticate, UtcMillis now) const {
  const saml::AuthnRequest request{.id = saml::new_request_id(),
                                   .relay_state = oidc::random_token(),
                                   .issued_at = now,
                                   .force_authn = must_reauthenticate};
  return {saml::authn_request_url(saml_connections_.at(connection.name), request),
          request.relay_state,
          {.saml_request_id = request.id}};
}

Outcome<oidc::AuthorizationReply> ProviderSignIn::parse_reply(std::string_view query) const {
  auto reply = oidc::parse_authorization_reply(query);
  if (!reply) return reply;
  if (reply->state.empty()) return refuse("OIDC-2", "The provider's reply has no state.");
  const std::string named = reply->state.substr(0, reply->state.find('.'));
  if (!reply->connection.empty() && reply->connection != named)
    return refuse("OIDC-2", "The reply comes back at another connection than its state belongs to.");
  const config::SsoConnectionSettings* settings = signin::find_by_name(sso_, named);
  if (settings == nullptr || settings->kind == config::SsoKind::saml)
    return refuse("OIDC-2", "The reply's state belongs to no connection.");
  // A reply at the URL of all connections could be another provider's.
  if (reply->connection.empty() != settings->redirect_to_login)
    return refuse("OIDC-2", "The reply comes back at the other of the two redirect URLs.");
  reply->connection = named;
  return reply;
}

Outcome<ProviderSignIn::SamlReply> ProviderSignIn::parse_posted(std::string_view query,
                                                                std::string_view form) const {
  auto parameters = unique_url_parameters(query);
  const auto connection =
      parameters ? saml_connections_.find((*parameters)["connection"]) : saml_connections_.end();
  if (connection == saml_connections_.end())
    return refuse("SIGN-9", "The response was posted to the URL of no SAML connection.");
  auto fields = unique_url_parameters(form);
  if (!fields) return refuse("SIGN-9", "The posted form {}.", fields.error());
  if ((*fields)["SAMLResponse"].empty()) return refuse("SIGN-9", "The posted form has no SAMLResponse.");
  return SamlReply{connection->second, {(*fields)["SAMLResponse"], (*fields)["RelayState"]}};
}

std::optional<SignInAttempt> ProviderSignIn::claim(const std::string& token, const std::string& connection,
                                                   UtcMillis now) {
  return store_.sign_in_attempts.claim(hash_of(token), connection, now - kAttemptMillis, now);
}

Outcome<std::string> ProviderSignIn::complete(std::string_view query, const RequestOrigin& origin,
                                              UtcMillis now) {
  const auto reply = parse_reply(query);
  if (!reply) return tl::unexpected(reply.error());
  const ProviderPlaces::Place place = places_.try_take(reply->connection);
  if (!place) return refuse_for_crowd(reply->connection);
  const auto attempt = claim(reply->state, reply->connection, now);
  // Anyone can send such a reply, so it must not fill the audit log.
  if (!attempt) return refuse("OIDC-2", "The reply's state is unknown, older than 10 minutes or used.");
  return conclude(reply->state, reply->connection, verify(*reply, *attempt, now), origin, now);
}

Outcome<std::string> ProviderSignIn::complete_posted(std::string_view query, std::string_view form,
                                                     const RequestOrigin& origin, UtcMillis now) {
  const auto reply = parse_posted(query, form);
  if (!reply) return tl::unexpected(reply.error());
  const std::string& name = reply->connection.settings.name;
  const auto attempt = claim(reply->form.relay_state, name, now);
  const auto identity = verify(*reply, attempt, now);
  // Anyone can post such a response, so it must not fill the audit log.
  if (!attempt) return tl::unexpected(identity.error());
  return conclude(reply->form.relay_state, name, identity, origin, now);
}

Outcome<VerifiedIdentity> ProviderSignIn::verify(const oidc::AuthorizationReply& reply,
                                                 const SignInAttempt& attempt, UtcMillis now) {
  signin::RuleVerdicts verdicts;
  const oidc::AuthorizationRequest request{reply.state, attempt.nonce, attempt.pkce_verifier,
                                           attempt.created_at, attempt.must_reauthenticate};
  auto identity =
      oidc_.complete(*signin::find_by_name(sso_, reply.connection), reply, request, now, verdicts);
  if (!identity || identity->tenant.empty()) return identity;
  const std::string pinned = store_.sign_in_connections.pin_tenant(identity->connection, identity->tenant);
  if (pinned == identity->tenant) return identity;
  return refuse(
      "OIDC-9",
      "The directory's id is {}; {} was kept at the first sign-in. If the directory was replaced on "
      "purpose, give the connection another name.",
      identity->tenant, pinned);
}

Outcome<VerifiedIdentity> ProviderSignIn::verify(const SamlReply& reply,
                                                 const std::optional<SignInAttempt>& attempt, UtcMillis now) {
  std::optional<saml::AuthnRequest> request;
  if (attempt)
    request = {attempt->saml_request_id, reply.form.relay_state, attempt->created_at,
               attempt->must_reauthenticate};
  const auto accept = [&](const std::string& assertion_id, UtcMillis until) {
    return store_.sign_in_connections.accept_assertion(reply.connection.settings.name, assertion_id, until);
  };
  return saml::complete_saml_sign_in(reply.form, reply.connection, request, accept, now);
}

Outcome<std::string> ProviderSignIn::conclude(const std::string& token, const std::string& connection,
                                              const Outcome<VerifiedIdentity>& identity,
                                              const RequestOrigin& origin, UtcMillis now) {
  if (!identity) {
    record_refusal(connection, identity.error(), origin, now);
    return tl::unexpected(identity.error());
  }
  if (!store_.sign_in_attempts.finish(hash_of(token), to_text(*identity), now))
    return refuse("SIGN-1", "The sign-in was completed already.");
  return token;
}

Outcome<SignedIn> ProviderSignIn::finish(std::string_view attempt_id, std::string_view browser_token,
                                         const RequestOrigin& origin, UtcMillis now) {
  const auto attempt =
      store_.sign_in_attempts.take(hash_of(attempt_id), hash_of(browser_token), now - kFinishMillis);
  if (!attempt)
    return refuse("SIGN-1",
                  "No sign-in of this browser is waiting: it is used, too old or another browser's.");
  const auto identity = identity_from_text(attempt->outcome);
  if (!identity) return refuse("SIGN-1", "The sign-in's outcome cannot be read.");
  AuditEvent audit = audit_of(origin, now);
  const auto organization = organization_of(identity->connection);
  const config::SsoConnectionSettings* connection = signin::find_by_name(sso_, identity->connection);
  auto user = organization ? link_identity(store_, policy_, *identity, *organization, audit, now,
                                           group_roles(*connection, *identity, now))
                           : tl::unexpected(organization.error());
  if (!user) {
    record_refusal(identity->connection, user.error(), origin, now);
    return tl::unexpected(user.error());
  }
  store_.sign_in_connections.record_success(identity->connection, now);
  audit.actor = audit.object_id = user->address;
  audit.user = user->user;
  audit.object_kind = "user";
  audit.organization = user->organization;
  audit.detail = "through " + identity->connection;
  // A provider that says no time may have asked the user for nothing: that is no proof.
  return SignedIn{std::move(*user), std::min(identity->authenticated_at.value_or(UtcMillis{}), now),
                  attempt->return_path, std::move(audit), identity->session_until};
}

Outcome<std::optional<OrganizationId>> ProviderSignIn::organization_of(const std::string& connection) const {
  const config::SsoConnectionSettings* settings = signin::find_by_name(sso_, connection);
  if (settings == nullptr) return refuse("SIGN-3", "The connection is no longer in the settings.");
  if (settings->organization.empty()) return std::nullopt;
  const auto found = store_.organizations.find_by_name(settings->organization);
  if (found) return found->id;
  return refuse("SIGN-11",
                "There is no organization {}; \"giftsyncctl organization list\" has the names for "
                "sso.connections.organization.",
                in_quotes(settings->organization));
}

void ProviderSignIn::record_refusal(const std::string& connection, const SignInRefusal& refusal,
                                    const RequestOrigin& origin, UtcMillis now) {
  store_.sign_in_connections.record_error(connection, refusal.rule + ": " + refusal.text, now);
  if (refusals_.count(origin.network, now).is_exceeded) return;
  AuditEvent audit = audit_of(origin, now);
  audit.object_kind = "connection";
  audit.object_id = connection;
  audit.refused = true;
  audit.rule = refusal.rule;
  audit.detail = refusal.text;
  store_.audit.add(audit);
}

}  // namespace giftsync::identity
