// daemon/sso: the addresses and names of a single-sign-on connection (Spec 5.8): what the customer's
// administrator enters at their identity provider, and where that provider is. Pure.
#pragma once

#include <string>

#include "daemon/settings/settings.h"

namespace giftsync::daemon {

/// "{auth_url}/login/callback", the same for all connections.
std::string login_redirect_url(const SsoSettings& sso);
/// "{auth_url}/login/callback?connection=NAME"
std::string post_back_url(const SsoSettings& sso, const SsoConnectionSettings& connection);
/// SAML entity id and audience: "urn:giftsync:HOST:NAME", with the host of auth_url.
std::string saml_entity_id(const SsoSettings& sso, const SsoConnectionSettings& connection);

/// The path below admin_url under which the daemon serves a SAML connection's metadata.
inline constexpr std::string_view kMetadataPath = "/api/v1/sso/metadata/";
std::string metadata_url(const Settings& settings, const SsoConnectionSettings& connection);

/// Where an OpenID provider is. What only its discovery document tells is empty.
struct ProviderAddresses {
  std::string issuer;  ///< of a directory v1: empty, since the document names it by the directory's id
  std::string discovery;
  std::string authorize;
  std::string token;
};
/// Of an oidc or a directory connection.
ProviderAddresses provider_addresses(const SsoSettings& sso, const SsoConnectionSettings& connection);

std::string_view to_word(SsoKind kind);

}  // namespace giftsync::daemon
