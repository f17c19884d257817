// daemon/identity: a sign-in through an identity provider as three steps over values: the redirect to the
// provider, its reply, and the return of the browser that began (SIGN-1 to SIGN-6, SIGN-9, SIGN-11). Any
// thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/identity/identity_linking.h"
#include "daemon/identity/oidc/oidc_client.h"
#include "daemon/identity/provider_places.h"
#include "daemon/identity/saml/saml_sign_in.h"
#include "daemon/identity/verified_identity.h"
#include "platform/fixed_window_limiter.h"

namespace giftsync::daemon::identity {

/// Where a request comes from, for the audit log.
struct RequestOrigin {
  std::string request_id;
  std::string network;
};

struct SignInStart {
  std::string provider_url;   ///< where the browser goes
  std::string browser_token;  ///< for the browser's cookie; the store has its hash
};

struct SignedIn {
  LinkedUser user;
  platform::UtcMillis authenticated_at;  ///< by the provider's word, not after now; 0: it does not say
  std::string return_path;
  schema::store::AuditEvent audit;                        ///< for the session that begins
  std::optional<platform::UtcMillis> session_until = {};  ///< the provider's session ends then
};

inline constexpr std::int64_t kAttemptMillis = 10 * platform::kMinuteMillis;
inline constexpr std::int64_t kFinishMillis = 2 * platform::kMinuteMillis;

class ProviderSignIn {
 public:
  static constexpr std::int64_t kMaxAuditedRefusals = 10;  ///< of one network in a minute

  /// Reads the certificate files of SAML providers. `sso` and `store` must outlive it.
  ProviderSignIn(const config::SsoSettings& sso, schema::store::Store& store, oidc::Send send,
                 SignInPolicy policy);

  /// `return_path` is checked by the caller. With `must_reauthenticate` the provider is asked for a new proof
  /// of the user, and a reply without one is refused (OIDC-6, SAML-18).
  Outcome<SignInStart> begin(std::string_view connection, std::string_view return_path,
                             bool must_reauthenticate, platform::UtcMillis now);

  /// The provider's reply in the query of the post-back or login redirect URL. Returns the attempt's id, with
  /// which the browser goes on; nothing is signed in yet.
  Outcome<std::string> complete(std::string_view query, const RequestOrigin& origin, platform::UtcMillis now);
  /// The same for a SAML response in the form that the browser posts to the post-back URL. The assertion is
  /// used up if all is right. Without an attempt the response is refused, and the refusal offers to begin a
  /// sign-in.
  Outcome<std::string> complete_posted(std::string_view query, std::string_view form,
                                       const RequestOrigin& origin, platform::UtcMillis now);

  /// Refused unless the browser is the one that began.
  Outcome<SignedIn> finish(std::string_view attempt_id, std::string_view browser_token,
                           const RequestOrigin& origin, platform::UtcMillis now);

 private:
  /// What both protocols make when a sign-in begins.
  struct Begun {
    std::string url;    ///< of the provider
    std::string token;  ///< OpenID's state or SAML's RelayState: with it the browser comes back
    schema::store::SignInAttempt attempt = {};  ///< with the protocol's own values alone
  };
  /// A posted response; nothing of it is checked yet.
  struct SamlReply {
    const saml::SamlConnection& connection;
    saml::SamlForm form;
  };

  Outcome<Begun> begin_oidc(const config::SsoConnectionSettings& connection, bool must_reauthenticate,
                            platform::UtcMillis now);
  Begun begin_saml(const config::SsoConnectionSettings& connection, bool must_reauthenticate,
                   platform::UtcMillis now) const;
  Outcome<oidc::AuthorizationReply> parse_reply(std::string_view query) const;
  Outcome<SamlReply> parse_posted(std::string_view query, std::string_view form) const;
  /// The pending attempt of the connection to which the reply with this token belongs; only once.
  std::optional<schema::store::SignInAttempt> claim(const std::string& token, const std::string& connection,
                                                    platform::UtcMillis now);
  Outcome<VerifiedIdentity> verify(const oidc::AuthorizationReply& reply,
                                   const schema::store::SignInAttempt& attempt, platform::UtcMillis now);
  Outcome<VerifiedIdentity> verify(const SamlReply& reply,
                                   const std::optional<schema::store::SignInAttempt>& attempt,
                                   platform::UtcMillis now);
  /// Stores the identity with the attempt, or audits the refusal. Returns the attempt's id.
  Outcome<std::string> conclude(const std::string& token, const std::string& connection,
                                const Outcome<VerifiedIdentity>& identity, const RequestOrigin& origin,
                                platform::UtcMillis now);
  Outcome<std::optional<schema::OrganizationId>> organization_of(const std::string& connection) const;
  /// In the audit log, unless the network has had its share: anyone can begin sign-ins and spoil them.
  void record_refusal(const std::string& connection, const SignInRefusal& refusal,
                      const RequestOrigin& origin, platform::UtcMillis now);

  const config::SsoSettings& sso_;
  schema::store::Store& store_;
  oidc::OidcClient oidc_;
  std::map<std::string, saml::SamlConnection> saml_connections_;
  const SignInPolicy policy_;
  ProviderPlaces places_;
  platform::FixedWindowLimiter<std::string> refusals_{kMaxAuditedRefusals, platform::kMinuteMillis, 10'000};
};

}  // namespace giftsync::daemon::identity
