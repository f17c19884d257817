// daemon/identity/oidc: why a sign-in was refused, and the verdict of each rule for `sso sign-in-test`.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace giftsync::daemon::identity::oidc {

/// For the log, the audit log and administrators; the browser gets none of it (SIGN-6).
struct OidcRefusal {
  std::string rule;             ///< "OIDC-5"
  std::string text;             ///< a sentence without tokens, codes and secrets
  bool is_unavailable = false;  ///< the provider does not respond; a retry may help
};

inline tl::unexpected<OidcRefusal> refuse(std::string rule, std::string text, bool is_unavailable = false) {
  return tl::unexpected(OidcRefusal{std::move(rule), std::move(text), is_unavailable});
}

struct RuleVerdict {
  std::string rule;
  std::string text;  ///< a sentence
};
/// The rules that hold, in the order of their checks; the refusal, if any, is the next one.
using RuleVerdicts = std::vector<RuleVerdict>;

}  // namespace giftsync::daemon::identity::oidc
