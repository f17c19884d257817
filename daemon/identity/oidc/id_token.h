// daemon/identity/oidc: validates the claims of an ID token whose signature holds (OIDC-5, OIDC-6). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/signin/sign_in_outcome.h"
#include "platform/strict_json.h"
#include "platform/time.h"

namespace giftsync::daemon::identity::oidc {

using signin::Outcome;
using signin::refuse;
using signin::RuleVerdicts;

inline constexpr std::int64_t kSkewMillis = 2 * platform::kMinuteMillis;
inline constexpr std::int64_t kMaxTokenAgeMillis = 10 * platform::kMinuteMillis;

struct ExpectedToken {
  std::string issuer;
  std::string client_id;
  std::string nonce;
  std::string access_token;  ///< for at_hash
  std::string code;          ///< for c_hash
  /// When the user must have proved who they are: not before this; absent: at any time.
  std::optional<platform::UtcMillis> authenticated_after = {};
};

/// The first rule that does not hold, else nothing; `verdicts` gets those that hold.
Outcome<void> validate_id_token(const platform::JsonValue& claims, const ExpectedToken& expected,
                                platform::UtcMillis now, RuleVerdicts& verdicts);

/// A claim that is a time in seconds; nullopt when it is absent or none between 1970 and 5138.
std::optional<platform::UtcMillis> time_claim(const platform::JsonValue& claims, std::string_view name);

}  // namespace giftsync::daemon::identity::oidc
