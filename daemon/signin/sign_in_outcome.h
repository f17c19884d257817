// daemon/signin: how a sign-in through an identity provider ends, by either protocol: with who has signed in,
// or with the rule that refuses it; and the rules that hold, for `sso sign-in-test`. Pure.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "platform/time.h"

namespace giftsync::signin {

/// Why a sign-in was refused: for the log, the audit log and administrators, never for the browser (SIGN-6).
struct SignInRefusal {
  std::string rule;             ///< "OIDC-5"
  std::string text;             ///< a sentence without tokens, codes and secrets
  bool is_unavailable = false;  ///< the provider does not respond; a retry may help
  bool has_no_role = false;     ///< the provider knows the person, who has no role here
  /// Not empty: nothing of the provider's response counts, and the page offers to begin a sign-in through
  /// this connection (SIGN-9).
  std::string offered_connection = {};
};

/// What a step of a sign-in returns, or why it refuses.
template <class Value>
using Outcome = tl::expected<Value, SignInRefusal>;

/// A refusal with the text that fmt::format() makes of `text` and `values`.
template <class... Values>
tl::unexpected<SignInRefusal> refuse(std::string rule, fmt::format_string<Values...> text,
                                     Values&&... values) {
  return tl::unexpected(SignInRefusal{std::move(rule), fmt::format(text, std::forward<Values>(values)...)});
}

/// Who an identity provider says has signed in.
struct VerifiedIdentity {
  std::string connection;
  std::string subject;       ///< permanent: identity is (connection, tenant, subject)
  std::string tenant = {};   ///< empty except for a directory
  std::string address = {};  ///< empty when the provider gives none that may link a user
  std::string name = {};     ///< for display; may be empty
  std::optional<UtcMillis> authenticated_at = {};
  std::optional<UtcMillis> session_until = {};  ///< the provider ends its session then
  std::vector<std::string> groups = {};         ///< of the connection's groups those that the user is in
};

/// A rule that holds.
struct RuleVerdict {
  std::string_view rule;  ///< "OIDC-5"
  std::string_view text;  ///< what holds
};
/// In the order of their checks; the refusal, if any, is the next one.
using RuleVerdicts = std::vector<RuleVerdict>;

}  // namespace giftsync::signin
