// daemon/identity: a sign-in through an identity provider as three steps over values: the redirect to the
// provider, its reply, and the return of the browser that began (SIGN-1 to SIGN-6, SIGN-9, SIGN-11). Any
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/identity/oidc/oidc_client.h"
#include "daemon/identity/saml/saml_sign_in.h"
#include "daemon/signin/sign_in_outcome.h"
#include "platform/fixed_window_limiter.h"
#include "schema/enums.h"
#include "schema/store/store.h"

namespace giftsync::identity {

// Who an identity provider says has signed in, kept as text between its reply and the return
// of the browser that began the sign-in (SIGN-1). Pure.

using signin::Outcome;
using signin::refuse;
using signin::SignInRefusal;
using signin::VerifiedIdentity;

/// As the attempt keeps it.
std::string to_text(const VerifiedIdentity& identity);
/// Nullopt for any text that to_text() does not make.
std::optional<VerifiedIdentity> identity_from_text(std::string_view text);

// Finds the user of the console to whom an identity belongs, and links the two at the first
// sign-in (SIGN-4, SIGN-5, SIGN-10, SIGN-11). Any thread.

/// Who may sign in through a provider.
struct SignInPolicy {
  /// An account of another plan signs in by link only.
  std::set<Plan> plans = {Plan::enterprise, Plan::enterprise_plus};
  /// The roles that a person without a user row comes to, besides those of the CRM: without any they are
  /// refused.
  std::function<std::vector<store::UserRole>(const std::string& address)> first_roles;
  /// Those that the CRM gives now; nullopt while it does not respond: what the user has stays.
  std::function<std::optional<std::vector<store::UserRole>>(const std::string& address)> crm_roles;
};

struct LinkedUser {
  UserId user;
  IdentityId identity;
  std::string address;  ///< the user's own
  std::optional<OrganizationId> organization = {};
};

/// `organization`: of all users of the connection; absent: a new user gets that of the account with the
/// address. `audit` has who and where; action, object and detail are set here. What changes is audited with
/// it. The user's roles from groups become `group_roles` (SIGN-16).
Outcome<LinkedUser> link_identity(store::Store& store, const SignInPolicy& policy,
                                  const VerifiedIdentity& identity,
                                  std::optional<OrganizationId> organization, const store::AuditEvent& audit,
                                  UtcMillis now, const std::vector<store::UserRole>& group_roles = {});

/// The roles that the identity's groups give, each by the first of its groups (SIGN-16). Pure.
std::vector<store::UserRole> group_roles(const config::SsoConnectionSettings& connection,
                                         const VerifiedIdentity& identity, UtcMillis now);

// How many threads may wait for identity providers, so that one that hangs stops no other
// sign-in (SIGN-14). Any thread.

class ProviderPlaces {
 public:
  static constexpr int kOfOne = 4;   ///< connection
  static constexpr int kOfAll = 12;  ///< of the 16 threads for sign-ins (HTTP-48)
  /// Gives the place back at its end.
  using Place = std::unique_ptr<const std::string, std::function<void(const std::string*)>>;

  /// Null: too many wait for this connection's provider, or for all.
  Place try_take(const std::string& connection) {
    const std::lock_guard lock(mutex_);
    if (all_ == kOfAll || taken_[connection] == kOfOne) return {};
    ++all_;
    ++taken_[connection];
    return {new std::string(connection), [this](const std::string* name) {
              const std::unique_ptr<const std::string> owner(name);
              const std::lock_guard end(mutex_);
              --all_;
              --taken_[*name];
            }};
  }

 private:
  std::mutex mutex_;
  int all_ = 0;  // guarded by mutex_, as what follows
  std::map<std::string, int> taken_;
};

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
  UtcMillis authenticated_at;  ///< by the provider's word, not after now; 0: it does not say
  std::string return_path;
  store::AuditEvent audit;                      ///< for the session that begins
  std::optional<UtcMillis> session_until = {};  ///< the provider's session ends then
};

inline constexpr std::int64_t kAttemptMillis = 10 * kMinuteMillis;
inline constexpr std::int64_t kFinishMillis = 2 * kMinuteMillis;

class ProviderSignIn {
 public:
  static constexpr std::int64_t kMaxAuditedRefusals = 10;  ///< of one network in a minute

  /// Reads the certificate files of SAML providers. `sso` and `store` must outlive it.
  ProviderSignIn(const config::SsoSettings& sso, store::Store& store, oidc::Send send, SignInPolicy policy);

  /// `return_path` is checked by the caller. With `must_reauthenticate` the provider is asked for a new proof
  /// of the user, and a reply without one is refused (OIDC-6, SAML-18).
  Outcome<SignInStart> begin(std::string_view connection, std::string_view return_path,
                             bool must_reauthenticate, UtcMillis now);

  /// The provider's reply in the query of the post-back or login redirect URL. Returns the attempt's id, with
  /// which the browser goes on; nothing is signed in yet.
  Outcome<std::string> complete(std::string_view query, const RequestOrigin& origin, UtcMillis now);
  /// The same for a SAML response in the form that the browser posts to the post-back URL. The assertion is
  /// used up if all is right. Without an attempt the response is refused, and the refusal offers to begin a
  /// sign-in.
  Outcome<std::string> complete_posted(std::string_view query, std::string_view form,
                                       const RequestOrigin& origin, UtcMillis now);

  /// Refused unless the browser is the one that began.
  Outcome<SignedIn> finish(std::string_view attempt_id, std::string_view browser_token,
                           const RequestOrigin& origin, UtcMillis now);

 private:
  /// What both protocols make when a sign-in begins.
  struct Started {
    std::string url;    ///< of the provider
    std::string token;  ///< OpenID's state or SAML's RelayState: with it the browser comes back
    store::SignInAttempt attempt = {};  ///< with the protocol's own values alone
  };
  /// A posted response; nothing of it is checked yet.
  struct SamlReply {
    const saml::SamlConnection& connection;
    saml::SamlForm form;
  };

  Outcome<Started> begin_oidc(const config::SsoConnectionSettings& connection, bool must_reauthenticate,
                              UtcMillis now);
  Started begin_saml(const config::SsoConnectionSettings& connection, bool must_reauthenticate,
                     UtcMillis now) const;
  Outcome<oidc::AuthorizationReply> parse_reply(std::string_view query) const;
  Outcome<SamlReply> parse_posted(std::string_view query, std::string_view form) const;
  /// The pending attempt of the connection to which the reply with this token belongs; only once.
  std::optional<store::SignInAttempt> claim(const std::string& token, const std::string& connection,
                                            UtcMillis now);
  Outcome<VerifiedIdentity> verify(const oidc::AuthorizationReply& reply, const store::SignInAttempt& attempt,
                                   UtcMillis now);
  Outcome<VerifiedIdentity> verify(const SamlReply& reply, const std::optional<store::SignInAttempt>& attempt,
                                   UtcMillis now);
  /// Stores the identity with the attempt, or audits the refusal. Returns the attempt's id.
  Outcome<std::string> conclude(const std::string& token, const std::string& connection,
                                const Outcome<VerifiedIdentity>& identity, const RequestOrigin& origin,
                                UtcMillis now);
  Outcome<std::optional<OrganizationId>> organization_of(const std::string& connection) const;
  /// In the audit log, unless the network has had its share: anyone can begin sign-ins and spoil them.
  void record_refusal(const std::string& connection, const SignInRefusal& refusal,
                      const RequestOrigin& origin, UtcMillis now);

  const config::SsoSettings& sso_;
  store::Store& store_;
  oidc::OidcClient oidc_;
  std::map<std::string, saml::SamlConnection> saml_connections_;
  const SignInPolicy policy_;
  ProviderPlaces places_;
  FixedWindowLimiter<std::string> refusals_{kMaxAuditedRefusals, kMinuteMillis, 10'000};
};

}  // namespace giftsync::identity
