// daemon/identity/oidc: who the claims of a valid ID token describe: the permanent subject, and the address
// by which a user may be linked at the first sign-in (OIDC-8), for Microsoft Entra ID by its own rules
// (OIDC-9 to OIDC-11). Pure.
#pragma once

#include <optional>
#include <string>

#include "daemon/config/settings.h"
#include "daemon/identity/oidc/refusal.h"
#include "platform/strict_json.h"
#include "platform/time.h"

namespace giftsync::daemon::identity::oidc {

struct OidcIdentity {
  std::string subject;  ///< sub; of a directory oid
  std::string tenant;   ///< of a directory its id, else empty
  std::string address;  ///< empty when the provider gives none that may be trusted
  std::string name;     ///< for display; may be empty
  std::optional<platform::UtcMillis> authenticated_at;
};

/// `claims`: of the ID token, or of the userinfo endpoint where the ID token has no address.
tl::expected<OidcIdentity, OidcRefusal> oidc_identity(const platform::JsonValue& claims,
                                                      const config::SsoConnectionSettings& connection);

/// `tenant`: the directory's id of the discovery document. `issuer`: the token's.
tl::expected<OidcIdentity, OidcRefusal> directory_identity(const platform::JsonValue& claims,
                                                           const config::SsoConnectionSettings& connection,
                                                           const std::string& tenant);

}  // namespace giftsync::daemon::identity::oidc
