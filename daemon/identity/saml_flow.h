// daemon/identity: a sign-in through a SAML provider: the AuthnRequest, and the response that the browser
// posts to the post-back URL (SIGN-9, SAML-24). It keeps nothing of a sign-in itself. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "daemon/identity/begun_sign_in.h"
#include "daemon/identity/saml/saml_sign_in.h"
#include "daemon/identity/verified_identity.h"

namespace giftsync::daemon::identity {

/// A posted response; nothing of it is checked yet.
struct SamlReply {
  std::string connection;  ///< one of the settings
  saml::SamlForm form;
};

class SamlFlow {
 public:
  /// Reads the certificate files. `store` must outlive it.
  SamlFlow(const config::SsoSettings& sso, schema::store::Store& store);

  /// `connection` is one of type saml.
  BegunSignIn begin(const std::string& connection, bool must_reauthenticate, platform::UtcMillis now) const;

  /// `query` is that of the post-back URL, `body` a form with each field once.
  tl::expected<SamlReply, SignInRefusal> parse_reply(std::string_view query, std::string_view body) const;

  /// Uses the assertion up if all is right. Without an attempt the response is refused, and the refusal
  /// offers to begin a sign-in.
  tl::expected<VerifiedIdentity, SignInRefusal> verify(
      const SamlReply& reply, const std::optional<schema::store::SignInAttempt>& attempt,
      platform::UtcMillis now);

 private:
  std::map<std::string, saml::SamlConnection> connections_;
  schema::store::Store& store_;
};

}  // namespace giftsync::daemon::identity
