#include "daemon/identity/provider_sign_in.h"

#include <algorithm>

#include "daemon/identity/saml/authn_request.h"
#include "daemon/signin/home_realm.h"
#include "platform/digest.h"
#include "platform/quoted_text.h"
#include "platform/url_parameters.h"

namespace giftsync::daemon::identity {
namespace {

using schema::store::AuditEvent;
using schema::store::SignInAttempt;

std::string hash_of(std::string_view token) {
  return platform::sha256_hex(token);
}

AuditEvent audit_of(const RequestOrigin& origin, platform::UtcMillis now) {
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

ProviderSignIn::ProviderSignIn(const config::SsoSettings& sso, schema::store::Store& store, oidc::Send send,
                               SignInPolicy policy)
    : sso_(sso), store_(store), oidc_(sso, std::move(send)), policy_(std::move(policy)) {
  for (const config::SsoConnectionSettings& one : sso.connections)
    if (one.kind == config::SsoKind::saml)
      saml_connections_.emplace(one.name, saml::saml_connection(sso, one));
}

Outcome<SignInStart> ProviderSignIn::begin(std::string_view connection, std::string_view return_path,
                                           bool must_reauthenticate, platform::UtcMillis now) {
  const config::SsoConnectionSettings* one = signin::find_by_name(sso_, connection);
  if (one == nullptr) return refuse("SIGN-3", "There is no such connection.");
  const bool asks_provider = one->kind != config::SsoKind::saml;
  const ProviderPlaces::Place place = asks_provider ? places_.try_take(one->name) : nullptr;
  if (asks_provider && !place) return refuse_for_crowd(one->name);
  auto begun = one->kind == config::SsoKind::saml ? begin_saml(*one, must_reauthenticate, now)
                                                  : begin_oidc(*one, must_reauthenticate, now);
  if (!begun) {
    store_.sign_in_connections.record_error(one->name, begun.error().rule + ": " + begun.error().text, now);
    return tl::unexpected(begun.error());
  }
  const std::string browser_token = oidc::random_token();
  SignInAttempt attempt = std::move(begun->attempt);
  attempt.id_hash = hash_of(begun->token);
  attempt.connection = one->name;
  attempt.browser_hash = hash_of(browser_token);
  attempt.return_path = std::string(return_path);
  attempt.must_reauthenticate = must_reauthenticate;
  attempt.created_at = now;
  store_.sign_in_attempts.create(attempt);
  return SignInStart{begun->url, browser_token};
}

Outcome<ProviderSignIn::Begun> ProviderSignIn::begin_oidc(const config::SsoConnectionSettings& connection,
                                                          bool must_reauthenticate, platform::UtcMillis now) {
  oidc::AuthorizationRequest request = oidc::make_authorization_request(now, must_reauthenticate);
  // One URL serves all connections with `redirect: login`, so the state says whose reply comes back.
  request.state = connection.name + "." + request.state;
  const auto url = oidc_.begin(connection, request);
  if (!url) return tl::unexpected(url.error());
  return Begun{*url, request.state, {.nonce = request.nonce, .pkce_verifier = request.code_verifier}};
}

ProviderSignIn::Begun ProviderSignIn::begin_saml(const config::SsoConnectionSettings& connection,
                                                 bool must_reauthenticate, platform::UtcMillis now) const {
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
  const config::SsoConnectionSettings* one = signin::find_by_name(sso_, named);
  if (one == nullptr || one->kind == config::SsoKind::saml)
    return refuse("OIDC-2", "The reply's state belongs to no connection.");
  // A reply at the URL of all connections could be another provider's.
  if (reply->connection.empty() != one->redirect_to_login)
    return refuse("OIDC-2", "The reply comes back at the other of the two redirect URLs.");
  reply->connection = named;
  return reply;
}

Outcome<ProviderSignIn::SamlReply> ProviderSignIn::parse_posted(std::string_view query,
                                                                std::string_view form) const {
  auto parameters = platform::unique_url_parameters(query);
  const auto connection =
      parameters ? saml_connections_.find((*parameters)["connection"]) : saml_connections_.end();
  if (connection == saml_connections_.end())
    return refuse("SIGN-9", "The response was posted to the URL of no SAML connection.");
  auto fields = platform::unique_url_parameters(form);
  if (!fields) return refuse("SIGN-9", "The posted form {}.", fields.error());
  if ((*fields)["SAMLResponse"].empty()) return refuse("SIGN-9", "The posted form has no SAMLResponse.");
  return SamlReply{connection->second, {(*fields)["SAMLResponse"], (*fields)["RelayState"]}};
}

std::optional<SignInAttempt> ProviderSignIn::claim(const std::string& token, const std::string& connection,
                                                   platform::UtcMillis now) {
  return store_.sign_in_attempts.claim(hash_of(token), connection, now - kAttemptMillis, now);
}

Outcome<std::string> ProviderSignIn::complete(std::string_view query, const RequestOrigin& origin,
                                              platform::UtcMillis now) {
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
                                                     const RequestOrigin& origin, platform::UtcMillis now) {
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
                                                 const SignInAttempt& attempt, platform::UtcMillis now) {
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
                                                 const std::optional<SignInAttempt>& attempt,
                                                 platform::UtcMillis now) {
  std::optional<saml::AuthnRequest> request;
  if (attempt)
    request = {attempt->saml_request_id, reply.form.relay_state, attempt->created_at,
               attempt->must_reauthenticate};
  const auto accept = [&](const std::string& assertion_id, platform::UtcMillis until) {
    return store_.sign_in_connections.accept_assertion(reply.connection.settings.name, assertion_id, until);
  };
  return saml::complete_saml_sign_in(reply.form, reply.connection, request, accept, now);
}

Outcome<std::string> ProviderSignIn::conclude(const std::string& token, const std::string& connection,
                                              const Outcome<VerifiedIdentity>& identity,
                                              const RequestOrigin& origin, platform::UtcMillis now) {
  if (!identity) {
    record_refusal(connection, identity.error(), origin, now);
    return tl::unexpected(identity.error());
  }
  if (!store_.sign_in_attempts.finish(hash_of(token), to_text(*identity), now))
    return refuse("SIGN-1", "The sign-in was completed already.");
  return token;
}

Outcome<SignedIn> ProviderSignIn::finish(std::string_view attempt_id, std::string_view browser_token,
                                         const RequestOrigin& origin, platform::UtcMillis now) {
  const auto attempt =
      store_.sign_in_attempts.take(hash_of(attempt_id), hash_of(browser_token), now - kFinishMillis);
  if (!attempt)
    return refuse("SIGN-1",
                  "No sign-in of this browser is waiting: it is used, too old or another browser's.");
  const auto identity = identity_from_text(attempt->outcome);
  if (!identity) return refuse("SIGN-1", "The sign-in's outcome cannot be read.");
  AuditEvent audit = audit_of(origin, now);
  const auto organization = organization_of(identity->connection);
  auto user = organization ? link_identity(store_, policy_, *identity, *organization, audit, now)
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
  return SignedIn{std::move(*user), std::min(identity->authenticated_at.value_or(platform::UtcMillis{}), now),
                  attempt->return_path, std::move(audit), identity->session_until};
}

Outcome<std::optional<schema::OrganizationId>> ProviderSignIn::organization_of(
    const std::string& connection) const {
  const config::SsoConnectionSettings* one = signin::find_by_name(sso_, connection);
  if (one == nullptr) return refuse("SIGN-3", "The connection is no longer in the settings.");
  if (one->organization.empty()) return std::nullopt;
  const auto found = store_.organizations.find_by_name(one->organization);
  if (found) return found->id;
  return refuse("SIGN-11",
                "There is no organization {}; \"giftsyncctl organization list\" has the names for "
                "sso.connections.organization.",
                platform::in_quotes(one->organization));
}

void ProviderSignIn::record_refusal(const std::string& connection, const SignInRefusal& refusal,
                                    const RequestOrigin& origin, platform::UtcMillis now) {
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

}  // namespace giftsync::daemon::identity
