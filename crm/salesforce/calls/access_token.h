// crm/salesforce: the one session that all threads and processes share. It is kept in memory and, sealed,
// in the store, so that a start and each command of giftsyncctl sign in only when that session has ended. The
// org of the first sign-in is remembered: a session of another org (a sandbox copied over production, a
// wrong domain) is not used until accept_organization() is called. Any thread.
#pragma once

#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "crm/salesforce/calls/sign_in.h"
#include "platform/clock.h"

namespace giftsync::salesforce {

/// Named values that outlive the process; the store's metadata. Each may throw giftsync::DependencyError.
struct FactStorage {
  std::function<std::optional<std::string>(const std::string& name)> load;
  std::function<void(const std::string& name, const std::string& value)> save;
  /// Returns the value that is stored afterwards.
  std::function<std::string(const std::string& name, const std::string& value)> save_if_absent;
};

inline constexpr const char* kTokenFact = "salesforce_token";  ///< sealed
inline constexpr const char* kTokenSealLabel = "salesforce token";
inline constexpr const char* kOrganizationFact = "salesforce_organization";  ///< the accepted org's id
/// The id of the org that is not accepted and that the last sign-in led to; empty: none.
inline constexpr const char* kOtherOrganizationFact = "salesforce_other_organization";
/// The refusal for which a process makes no call, see stored_refusal(); empty: none.
inline constexpr const char* kSignInRefusalFact = "salesforce_sign_in_refusal";

/// As those who only read the store see it.
struct StoredRefusal {
  SignInRefusal refusal;
  UtcMillis since;
};
/// Reads the value of kSignInRefusalFact; nullopt without a refusal.
std::optional<StoredRefusal> stored_refusal(const std::string& fact);

struct AccessToken {
  Session session;
  /// When it was got; later than that of any token before it, so it tells tokens apart.
  UtcMillis born_at;
};

/// The session belongs to another org than the one whose records giftsync writes.
struct OtherOrganization {
  std::string accepted;
  std::string found;
};

using TokenOutcome = std::variant<AccessToken, SignInRefusal, SignInFault, OtherOrganization>;

class AccessTokens {
 public:
  using SignIn = std::function<SignInOutcome(UtcMillis now)>;

  /// `fingerprint`: of the settings that `sign_in` uses; a stored token of others is not used.
  /// `former_secret`: sealed the token before a rotation of the server secret; empty: none did.
  AccessTokens(SignIn sign_in, std::string fingerprint, std::string server_secret, FactStorage facts,
               Clock clock, std::string former_secret = {});

  /// The token in memory, else the stored one, else that of a new sign-in. Threads that ask at the same time
  /// wait for one sign-in and get its outcome. A refusal is final: no sign-in is tried again by this object.
  TokenOutcome current();
  /// The same when the org has ended the session of `ended`: another token than that. Only the first thread
  /// to ask signs in. A token that ends within a minute of its sign-in is a fault.
  TokenOutcome after(const AccessToken& ended);

  /// A call with a token of this object was answered: what the store has of another process' refusal is over.
  void note_success();

  /// From now on that org's records are written; its token is used.
  void accept_organization(const std::string& organization_id);

 private:
  using Birth = std::optional<UtcMillis>;
  TokenOutcome obtain(Birth ended);
  static TokenOutcome outcome_of(const std::shared_future<TokenOutcome>& renewal);
  TokenOutcome renew(Birth ended);
  TokenOutcome sign_in(Birth ended, UtcMillis now);
  TokenOutcome use_if_accepted(const AccessToken& token);
  void note_other_organization(const std::string& found) const;
  void note_refusal(const std::string& text) const;
  std::optional<AccessToken> unaccepted_token();
  std::optional<AccessToken> stored_token() const;
  void store(const AccessToken& token) const;

  const SignIn sign_in_;
  const std::string fingerprint_;
  const std::string server_secret_;
  const std::string former_secret_;
  const FactStorage facts_;
  const Clock clock_;

  std::mutex mutex_;  // guards the following
  std::optional<AccessToken> token_;
  std::optional<AccessToken> unaccepted_;  ///< of another org
  std::optional<StoredRefusal> refusal_;
  UtcMillis success_noted_at_{INT64_MIN / 2};
  std::shared_future<TokenOutcome> running_;  ///< valid while a thread renews the token
};

}  // namespace giftsync::salesforce
