// daemon/sso: the two documents of an OpenID provider: its discovery document (OpenID Connect Discovery 1.0)
// and its keys (RFC 7517), and whether they are what the settings expect. Pure.
#pragma once

#include <string>
#include <string_view>

#include "daemon/settings/settings.h"
#include "daemon/sso/findings.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// What the discovery document tells; empty where it is missing or no https URL.
struct ToldAddresses {
  std::string authorize;
  std::string token;
  std::string keys;
};
ToldAddresses judge_discovery(std::string_view document, const SsoSettings& sso,
                              const SsoConnectionSettings& connection, Findings& findings);

void judge_keys(std::string_view document, schema::UtcMillis now, Findings& findings);

/// Whether the provider that calls itself `told` is the one that the settings mean. A directory calls itself
/// by its id where the settings have its domain.
bool is_expected_issuer(const SsoSettings& sso, const SsoConnectionSettings& connection,
                        const std::string& told);

}  // namespace giftsync::daemon
