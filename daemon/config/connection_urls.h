// daemon/config: the URLs and names that others enter on their side: those of a single-sign-on connection
// (HTTP-41, HTTP-42) and of a webhook; an identity provider's endpoints; and the pages of a CRM's records.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::config {

/// The domains of a connection, including a directory's own domain.
std::vector<std::string> all_domains(const SsoConnectionSettings& connection);

/// "{auth_url}/login/callback", the same for all connections.
std::string login_redirect_url(const SsoSettings& sso);
/// "{auth_url}/login/callback?connection=NAME"
std::string post_back_url(const SsoSettings& sso, const SsoConnectionSettings& connection);
/// SAML entity id and audience: "urn:giftsync:HOST:NAME", with the host of auth_url.
std::string saml_entity_id(const SsoSettings& sso, const SsoConnectionSettings& connection);

/// The path below admin_url under which the daemon serves a SAML connection's metadata.
inline constexpr std::string_view kSamlMetadataPath = "/api/v1/sso/metadata/";
std::string saml_metadata_url(const Settings& settings, const SsoConnectionSettings& connection);

/// The URL at which a source of type webhook sends its messages; empty for a poll.
std::string webhook_url(const std::string& admin_url, const SourceSettings& source);

/// An OpenID provider's endpoints; those known only from its discovery document are empty.
struct ProviderEndpoints {
  std::string issuer;  ///< empty for a directory v1, whose issuer contains the directory's id
  std::string discovery;
  std::string authorize;
  std::string token;
};
/// The endpoints of an oidc or directory connection.
ProviderEndpoints provider_endpoints(const SsoSettings& sso, const SsoConnectionSettings& connection);

/// The page of a CRM's record, by crm.record_url. `object`: "contact", "lead", "account", "opportunity" or
/// "gift_record". Empty without an id, and for a CRM without such pages.
std::string record_url(const CrmSettings& crm, std::string_view object, const std::string& id);

std::string_view to_word(SsoKind kind);

}  // namespace giftsync::config
