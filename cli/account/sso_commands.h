// cli: `sso sign-in-test NAME`: signs in through one connection and prints the verdict of each rule. It needs
// neither a daemon nor a store and signs no one in: an OpenID provider's reply is pasted from the browser's
// address bar, a SAML response comes from its developer tools.
#pragma once

#include "cli/console.h"
#include "daemon/config/settings.h"
#include "daemon/identity/oidc/discovery.h"

namespace giftsync::cli {

/// `connection` is one of `sso`. Exit 0: all rules hold; 65: one does not; 69: the provider does not respond.
int sign_in_test(const Console& console, const config::SsoSettings& sso,
                 const config::SsoConnectionSettings& connection, const oidc::Send& send, bool json);

}  // namespace giftsync::cli
