// daemon/signin: checks a connection against the provider (HTTP-46): fetches an OpenID provider's documents
// over TLS, or checks a SAML provider's certificate and whether its sign-in page responds. It signs no user
// in and sends no secret.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/settings.h"
#include "platform/http_client.h"
#include "platform/time.h"

namespace giftsync::signin {

// The findings of a connection check.

struct CheckResult {
  enum class Kind {
    ok,
    warning,
    failure,     ///< sign-in does not work
    unreachable  ///< the same, and a retry may help
  };
  Kind kind = Kind::ok;
  std::string text;  ///< a sentence
};

class CheckReport {
 public:
  void add_ok(std::string text) { results_.push_back({CheckResult::Kind::ok, std::move(text)}); }
  void add_warning(std::string text) { results_.push_back({CheckResult::Kind::warning, std::move(text)}); }
  void add_failure(std::string text) { results_.push_back({CheckResult::Kind::failure, std::move(text)}); }
  void add_unreachable(std::string text) {
    results_.push_back({CheckResult::Kind::unreachable, std::move(text)});
  }
  bool has(CheckResult::Kind kind) const {
    return std::any_of(results_.begin(), results_.end(),
                       [kind](const CheckResult& result) { return result.kind == kind; });
  }
  const std::vector<CheckResult>& all() const { return results_; }

 private:
  std::vector<CheckResult> results_;
};

CheckReport check_connection(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                             const HttpGet& fetch, UtcMillis now);

// Checks the two documents of an OpenID provider against the settings: its discovery document
// (OpenID Connect Discovery 1.0) and its keys (RFC 7517). Pure.

/// The endpoints of the discovery document; empty where missing or not an https URL.
struct AdvertisedEndpoints {
  std::string authorize;
  std::string token;
  std::string jwks;
};
AdvertisedEndpoints validate_discovery(std::string_view document, const config::SsoSettings& sso,
                                       const config::SsoConnectionSettings& connection, CheckReport& report);

void validate_jwks(std::string_view document, UtcMillis now, CheckReport& report);

/// Whether `issuer` is the issuer that the settings expect. A directory's issuer contains its id where the
/// settings have its domain.
bool is_expected_issuer(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                        const std::string& issuer);

}  // namespace giftsync::signin
