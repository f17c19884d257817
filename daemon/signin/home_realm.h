// daemon/signin: finds connections: by name, and by the domain of a user's e-mail address (home-realm
// discovery, HTTP-44); and what a provider may say of a user, whatever the protocol. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::signin {

/// Null when there is none.
const config::SsoConnectionSettings* find_by_name(const config::SsoSettings& sso, std::string_view name);

/// Whether the domain of `address` is one of the connection's. A sub-domain is a different domain.
bool is_in_domains(const config::SsoConnectionSettings& connection, std::string_view address);

/// The connection through which the user with this address signs in. Null when no connection has the domain
/// of `address`.
const config::SsoConnectionSettings* find_connection(const config::SsoSettings& sso,
                                                     std::string_view address);

inline constexpr std::size_t kMaxIdentityCodePoints = 255;
/// Whether a provider's text can be a user's id or name: one line of 1 to 255 code points (SAML-20, OIDC-5,
/// OIDC-12).
bool is_identity_line(std::string_view text);

/// What makes a provider's text no e-mail address, as it follows the text (SAML-21, OIDC-12); nullopt for
/// one. White space around it is refused: a provider adds none.
std::optional<std::string> address_error(std::string_view address);

/// The groups of the connection's setting that are among those of the user, in the order of the setting
/// (SIGN-16). They are compared exactly.
std::vector<std::string> known_groups(const config::SsoConnectionSettings& connection,
                                      std::span<const std::string> of_user);

}  // namespace giftsync::signin
