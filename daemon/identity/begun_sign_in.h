// daemon/identity: what both protocols make when a sign-in begins. Pure.
#pragma once

#include <string>

#include "schema/store/store.h"

namespace giftsync::daemon::identity {

struct BegunSignIn {
  std::string url;    ///< of the provider
  std::string token;  ///< OpenID's state or SAML's RelayState: with it the browser comes back
  schema::store::SignInAttempt attempt = {};  ///< with the protocol's own values alone
};

}  // namespace giftsync::daemon::identity
