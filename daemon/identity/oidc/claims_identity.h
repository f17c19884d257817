// daemon/identity/oidc: who the claims of a valid ID token describe: the permanent subject, and the address
// by which a user may be linked at the first sign-in (OIDC-8), for Microsoft Entra ID by its own rules
// (OIDC-9 to OIDC-11). Pure.
#pragma once

#include <string>

#include "daemon/config/settings.h"
#include "daemon/signin/sign_in_outcome.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::identity::oidc {

using signin::Outcome;
using signin::VerifiedIdentity;

/// `claims`: of the ID token, or of the userinfo endpoint where the ID token has no address. The subject is
/// `sub`.
Outcome<VerifiedIdentity> oidc_identity(const platform::JsonValue& claims,
                                        const config::SsoConnectionSettings& connection);

/// `tenant`: the directory's id of the discovery document. The subject is `oid`.
Outcome<VerifiedIdentity> directory_identity(const platform::JsonValue& claims,
                                             const config::SsoConnectionSettings& connection,
                                             const std::string& tenant);

}  // namespace giftsync::daemon::identity::oidc
