// daemon/identity/oidc: a sign-in at an OpenID provider from the redirect to the identity: discovery,
// authorization request, token exchange, validation. It keeps nothing of a sign-in itself. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/identity/oidc/discovery.h"
#include "daemon/signin/sign_in_outcome.h"
#include "platform/http_client.h"
#include "platform/strict_json.h"
#include "platform/time.h"

namespace giftsync::oidc {

// The URL to which a browser is sent to sign in, and the reply with which it comes back
// (OIDC-2, OIDC-3). Pure.

/// Three random texts, of 32 bytes each as base64url. Kept with the attempt: the reply is compared with it.
struct AuthorizationRequest {
  std::string state;
  std::string nonce;
  std::string code_verifier;
  UtcMillis started_at;
  bool must_reauthenticate = false;  ///< the user proves again who they are (max_age=0)
};

/// Which of the two URLs that `sso show` prints the provider sends the browser back to, by the setting
/// `redirect`.
std::string redirect_uri(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection);

std::string authorization_url(const Provider& provider, const config::SsoSettings& sso,
                              const config::SsoConnectionSettings& connection,
                              const AuthorizationRequest& request);

/// Absent parameters are empty.
struct AuthorizationReply {
  std::string state;
  std::string code;
  std::string issuer;             ///< iss
  std::string connection;         ///< of the post-back URL
  std::string error;              ///< "access_denied"
  std::string error_description;  ///< of the provider: show it as text only
};

/// Refuses repeated parameters, and text that is not UTF-8 or has a NUL.
Outcome<AuthorizationReply> parse_authorization_reply(std::string_view query);

/// Refuses an error, another issuer, and a reply without a code.
Outcome<void> check_authorization_reply(const AuthorizationReply& reply, const Provider& provider);

// Who the claims of a valid ID token describe: the permanent subject, and the address
// by which a user may be linked at the first sign-in (OIDC-8), for Microsoft Entra ID by its own rules
// (OIDC-9 to OIDC-11). Pure.

using signin::Outcome;
using signin::VerifiedIdentity;

/// `claims`: of the ID token, or of the userinfo endpoint where the ID token has no address. The subject is
/// `sub`.
Outcome<VerifiedIdentity> oidc_identity(const JsonValue& claims,
                                        const config::SsoConnectionSettings& connection);

/// `tenant`: the directory's id of the discovery document. The subject is `oid`.
Outcome<VerifiedIdentity> directory_identity(const JsonValue& claims,
                                             const config::SsoConnectionSettings& connection,
                                             const std::string& tenant);

/// Whether the claims say that the user has more groups than the token holds (OIDC-13).
bool has_more_groups(const JsonValue& claims, const config::SsoConnectionSettings& connection);
/// Of the connection's groups those that the claims name (OIDC-13); none without the claim.
Outcome<std::vector<std::string>> groups_of(const JsonValue& claims,
                                            const config::SsoConnectionSettings& connection);

// Exchanges the code for tokens (OIDC-3) and asks for the user's address or groups where the ID
// token has none (OIDC-7). Requests and replies as values. Pure.

/// Has the client's secret and the code: never log it.
HttpRequest token_request(const Provider& provider, const config::SsoSettings& sso,
                          const config::SsoConnectionSettings& connection, const std::string& code,
                          const std::string& code_verifier);

/// They are used once and stored nowhere.
struct Tokens {
  std::string id_token;
  std::string access_token;
};
Outcome<Tokens> parse_token_reply(const HttpResponse& response);

HttpRequest userinfo_request(const Provider& provider, const std::string& access_token);
/// The claims; refused unless `sub` is that of the ID token.
Outcome<JsonDocument> parse_userinfo(const HttpResponse& response, std::string_view subject);

/// 32 random bytes as base64url.
std::string random_token();
AuthorizationRequest make_authorization_request(UtcMillis now, bool must_reauthenticate = false);

class OidcClient {
 public:
  /// `sso` must outlive it.
  OidcClient(const config::SsoSettings& sso, Send send)
      : sso_(sso), send_(send), discovery_(sso, std::move(send)) {}

  /// The URL to which the browser goes.
  Outcome<std::string> begin(const config::SsoConnectionSettings& connection,
                             const AuthorizationRequest& request);

  /// `reply` is of the sign-in that `request` began. Uses up the reply's code. `verdicts` gets
  /// the rules that hold.
  Outcome<VerifiedIdentity> complete(const config::SsoConnectionSettings& connection,
                                     const AuthorizationReply& reply, const AuthorizationRequest& request,
                                     UtcMillis now, RuleVerdicts& verdicts);

 private:
  Outcome<std::string> verified_payload(const config::SsoConnectionSettings& connection,
                                        const Provider& provider, const std::string& token, UtcMillis now);
  Outcome<VerifiedIdentity> identity_of(const config::SsoConnectionSettings& connection,
                                        const Provider& provider, const JsonValue& claims,
                                        const std::string& access_token, RuleVerdicts& verdicts);

  const config::SsoSettings& sso_;
  const Send send_;
  DiscoveryCache discovery_;
};

// Validates the claims of an ID token whose signature holds (OIDC-5, OIDC-6). Pure.

using signin::Outcome;
using signin::refuse;
using signin::RuleVerdicts;

inline constexpr std::int64_t kSkewMillis = 2 * kMinuteMillis;
inline constexpr std::int64_t kMaxTokenAgeMillis = 10 * kMinuteMillis;

struct ExpectedToken {
  std::string issuer;
  std::string client_id;
  std::string nonce;
  std::string access_token;  ///< for at_hash
  std::string code;          ///< for c_hash
  /// When the user must have proved who they are: not before this; absent: at any time.
  std::optional<UtcMillis> authenticated_after = {};
};

/// The first rule that does not hold, else nothing; `verdicts` gets those that hold.
Outcome<void> validate_id_token(const JsonValue& claims, const ExpectedToken& expected, UtcMillis now,
                                RuleVerdicts& verdicts);

/// A claim that is a time in seconds; nullopt when it is absent or none between 1970 and 5138.
std::optional<UtcMillis> time_claim(const JsonValue& claims, std::string_view name);

}  // namespace giftsync::oidc
