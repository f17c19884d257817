// daemon/signin: checks the two documents of an OpenID provider against the settings: its discovery document
// (OpenID Connect Discovery 1.0) and its keys (RFC 7517). Pure.
#pragma once

#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/signin/check_report.h"
#include "platform/time.h"

namespace giftsync::daemon::signin {

/// The endpoints of the discovery document; empty where missing or not an https URL.
struct AdvertisedEndpoints {
  std::string authorize;
  std::string token;
  std::string jwks;
};
AdvertisedEndpoints validate_discovery(std::string_view document, const config::SsoSettings& sso,
                                       const config::SsoConnectionSettings& connection, CheckReport& report);

void validate_jwks(std::string_view document, platform::UtcMillis now, CheckReport& report);

/// Whether `issuer` is the issuer that the settings expect. A directory's issuer contains its id where the
/// settings have its domain.
bool is_expected_issuer(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                        const std::string& issuer);

}  // namespace giftsync::daemon::signin
