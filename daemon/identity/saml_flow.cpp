#include "daemon/identity/saml_flow.h"

#include "daemon/identity/saml/authn_request.h"
#include "platform/digest.h"
#include "platform/random.h"
#include "platform/text.h"
#include "platform/url_parameters.h"

namespace giftsync::daemon::identity {
namespace {

constexpr std::size_t kRandomBytes = 32;
using Fields = std::multimap<std::string, std::string>;

/// Of a query or form; empty when it is malformed.
Fields fields_of(std::string_view text) {
  Fields fields;
  if (const auto parameters = platform::parse_url_parameters(text))
    for (const auto& [name, value] : *parameters)
      if (platform::is_storable_text(value)) fields.emplace(name, value);
  return fields;
}

/// Empty when the field is missing; nullopt when it is repeated.
std::optional<std::string> only_value(const Fields& fields, const std::string& name) {
  const auto [first, last] = fields.equal_range(name);
  if (first == last) return std::string();
  return std::next(first) == last ? std::optional(first->second) : std::nullopt;
}

}  // namespace

SamlFlow::SamlFlow(const config::SsoSettings& sso, schema::store::Store& store) : store_(store) {
  for (const config::SsoConnectionSettings& one : sso.connections)
    if (one.kind == config::SsoKind::saml) connections_.emplace(one.name, saml::saml_connection(sso, one));
}

BegunSignIn SamlFlow::begin(const std::string& connection, bool must_reauthenticate,
                            platform::UtcMillis now) const {
  const saml::AuthnRequest request{
      .id = saml::new_request_id(),
      .relay_state = platform::to_base64url(platform::random_bytes(kRandomBytes)),
      .force_authn = must_reauthenticate};
  return {saml::authn_request_url(connections_.at(connection), request, now),
          request.relay_state,
          {.saml_request_id = request.id}};
}

tl::expected<SamlReply, SignInRefusal> SamlFlow::parse_reply(std::string_view query,
                                                             std::string_view body) const {
  const auto connection = only_value(fields_of(query), "connection");
  if (!connection || !connections_.contains(*connection))
    return refuse("SIGN-9", "The response was posted to the URL of no SAML connection.");
  const Fields form = fields_of(body);
  const auto response = only_value(form, "SAMLResponse");
  const auto relay_state = only_value(form, "RelayState");
  if (!response || !relay_state || response->empty())
    return refuse("SIGN-9", "The posted form has no SAMLResponse, or a field twice.");
  return SamlReply{*connection, {*response, *relay_state}};
}

tl::expected<VerifiedIdentity, SignInRefusal> SamlFlow::verify(
    const SamlReply& reply, const std::optional<schema::store::SignInAttempt>& attempt,
    platform::UtcMillis now) {
  std::optional<saml::SamlAttempt> pending;
  if (attempt)
    pending = {.request_id = attempt->saml_request_id,
               .relay_state = reply.form.relay_state,
               .started_at = attempt->created_at,
               .force_authn = attempt->must_reauthenticate};
  const auto claim = [&](const std::string& assertion_id, platform::UtcMillis until) {
    return store_.sign_in_connections.accept_assertion(reply.connection, assertion_id, until);
  };
  return saml::complete_saml_sign_in(reply.form, connections_.at(reply.connection), pending, claim, now);
}

}  // namespace giftsync::daemon::identity
