// platform: encrypts a text that is stored beside other data, so that a copy of the store alone does not
// reveal it: AES-256-GCM under a key that HKDF-SHA-256 derives from a secret. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync {

/// `text` sealed under `secret` for the purpose `label`: printable ASCII, different at each call. Throws
/// DependencyError when OpenSSL or the generator of random bytes fails.
std::string seal_text(std::string_view secret, std::string_view label, std::string_view text);

/// What seal_text() was given; nullopt for a text that was sealed with another secret or label, or changed
/// since, or is no sealed text. Throws DependencyError when OpenSSL lacks an algorithm.
std::optional<std::string> open_sealed_text(std::string_view secret, std::string_view label,
                                            std::string_view sealed);

}  // namespace giftsync
