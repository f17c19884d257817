#include "daemon/identity/oidc/id_token.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/signin/home_realm.h"
#include "platform/digest.h"
#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::daemon::identity::oidc {
namespace {

using platform::JsonValue;
using Fault = std::optional<std::string>;

constexpr double kMaxSeconds = 1e11;

struct Input {
  const JsonValue& claims;
  const ExpectedToken& expected;
  platform::UtcMillis now;
};

Fault wrong_issuer(const Input& in) {
  const std::string_view issuer = in.claims.text_of("iss");
  if (issuer == in.expected.issuer) return std::nullopt;
  return fmt::format("The ID token's iss is {}, not {}.", platform::in_quotes(issuer), in.expected.issuer);
}

Fault wrong_audience(const Input& in) {
  const JsonValue* audience = in.claims.find("aud");
  const auto is_own = [&](const JsonValue& one) { return one.text() == in.expected.client_id; };
  const bool is_list = audience != nullptr && audience->is_array();
  const auto list = is_list ? audience->elements() : std::span<const JsonValue>();
  const bool names_client =
      audience != nullptr && (is_list ? std::any_of(list.begin(), list.end(), is_own) : is_own(*audience));
  if (!names_client) return "The ID token's aud does not contain the connection's client_id.";
  const JsonValue* party = in.claims.find("azp");
  if ((list.size() > 1 && party == nullptr) || (party != nullptr && !is_own(*party)))
    return "The ID token is for several clients, and its azp is not the connection's client_id.";
  return std::nullopt;
}

Fault wrong_lifetime(const Input& in) {
  const auto expires = time_claim(in.claims, "exp");
  const auto issued = time_claim(in.claims, "iat");
  if (!expires) return "The ID token has no exp.";
  if (!issued) return "The ID token has no iat.";
  if (in.now >= *expires + kSkewMillis)
    return fmt::format("The ID token expired at {}.", platform::to_rfc3339(*expires));
  if (*issued > in.now + kSkewMillis || in.now > *issued + kMaxTokenAgeMillis + kSkewMillis)
    return fmt::format("The ID token was issued at {}; allowed: at most 10 minutes ago. Compare the clocks.",
                       platform::to_rfc3339(*issued));
  const auto begins = time_claim(in.claims, "nbf");
  if (in.claims.find("nbf") != nullptr && (!begins || *begins > in.now + kSkewMillis))
    return "The ID token is not valid yet (nbf).";
  return std::nullopt;
}

Fault wrong_nonce(const Input& in) {
  const std::string_view nonce = in.claims.text_of("nonce");
  if (!in.expected.nonce.empty() && platform::equal_in_constant_time(nonce, in.expected.nonce))
    return std::nullopt;
  return nonce.empty() ? "The ID token has no nonce." : "The ID token's nonce belongs to another sign-in.";
}

Fault wrong_subject(const Input& in) {
  const std::string_view subject = in.claims.text_of("sub");
  if (signin::is_identity_line(subject)) return std::nullopt;
  return "The ID token's sub is not one line of 1 to 255 characters.";
}

/// RS256 and ES256 both use SHA-256, and so do at_hash and c_hash.
bool is_absent_or_hash(const JsonValue& claims, std::string_view name, const std::string& text) {
  const std::string hash = platform::sha256(text).substr(0, platform::kSha256Bytes / 2);
  return claims.find(name) == nullptr || claims.text_of(name) == platform::to_base64url(hash);
}

Fault wrong_hash(const Input& in) {
  if (!is_absent_or_hash(in.claims, "at_hash", in.expected.access_token))
    return "The ID token belongs to another access token (at_hash).";
  if (!is_absent_or_hash(in.claims, "c_hash", in.expected.code))
    return "The ID token belongs to another code (c_hash).";
  return std::nullopt;
}

Fault wrong_authentication_time(const Input& in) {
  if (!in.expected.authenticated_after) return std::nullopt;
  const auto time = time_claim(in.claims, "auth_time");
  if (!time) return "The ID token has no auth_time, though a new proof of the user was asked for (max_age).";
  if (*time + kSkewMillis >= *in.expected.authenticated_after && *time <= in.now + kSkewMillis)
    return std::nullopt;
  return fmt::format("The user proved who they are at {}, before this sign-in.", platform::to_rfc3339(*time));
}

struct Check {
  const char* rule;
  const char* holds;
  Fault (*fault)(const Input&);
};
constexpr Check kChecks[] = {
    {"OIDC-5", "iss is the provider's issuer", wrong_issuer},
    {"OIDC-5", "aud contains the client id, and azp agrees", wrong_audience},
    {"OIDC-5", "exp, iat and nbf allow the token now", wrong_lifetime},
    {"OIDC-5", "nonce is that of this sign-in", wrong_nonce},
    {"OIDC-5", "sub is there", wrong_subject},
    {"OIDC-6", "at_hash and c_hash, if there, fit access token and code", wrong_hash},
    {"OIDC-6", "auth_time, if asked for, is new enough", wrong_authentication_time},
};

}  // namespace

std::optional<platform::UtcMillis> time_claim(const JsonValue& claims, std::string_view name) {
  const JsonValue* value = claims.find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> whole = value->integer();
  const double seconds = whole ? static_cast<double>(*whole) : value->real().value_or(-1);
  if (!(seconds >= 0 && seconds < kMaxSeconds)) return std::nullopt;
  return platform::UtcMillis{static_cast<std::int64_t>(seconds * 1000)};
}

Outcome<void> validate_id_token(const JsonValue& claims, const ExpectedToken& expected,
                                platform::UtcMillis now, RuleVerdicts& verdicts) {
  const Input input{claims, expected, now};
  for (const Check& check : kChecks) {
    if (Fault fault = check.fault(input)) return refuse(check.rule, "{}", *fault);
    verdicts.push_back({check.rule, check.holds});
  }
  return {};
}

}  // namespace giftsync::daemon::identity::oidc
