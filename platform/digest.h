// platform: SHA-256, HMAC, hex, base64, and random bytes. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync {

inline constexpr std::size_t kSha256Bytes = 32;

/// 32 bytes.
std::string sha256(std::string_view bytes);

/// 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Two lower-case hex digits per byte.
std::string to_hex(std::string_view bytes);

/// to_hex(sha256(bytes)): 64 digits.
std::string sha256_hex(std::string_view bytes);

/// The bytes of an even number of hex digits in either case; nullopt for anything else.
std::optional<std::string> from_hex(std::string_view digits);

/// RFC 4648 section 5, without padding.
std::string to_base64url(std::string_view bytes);

/// Nullopt for anything but the exact text that to_base64url returns for some bytes.
std::optional<std::string> from_base64url(std::string_view text);

/// RFC 4648 section 4, with or without padding; nullopt for any text that is not the canonical form.
std::optional<std::string> from_base64_text(std::string_view text);
/// With padding.
std::string to_base64_text(std::string_view bytes);

/// The key in a Standard Webhooks secret: base64, with or without the prefix "whsec_", at least 16 bytes.
std::optional<std::string> standard_webhook_key(std::string_view secret);

/// True for equal bytes. The time it takes depends on the lengths only, so it reveals nothing about the
/// contents.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Random bytes for secrets, keys and names that must not be guessable. Any thread.

/// `count` bytes of the system's cryptographic generator. Throws DependencyError when the generator
/// fails.
std::string random_bytes(std::size_t count);

/// `bytes` random bytes as lower-case hex, two digits per byte.
std::string random_hex(std::size_t bytes);

}  // namespace giftsync
