#include "sync/api_key.h"

#include <cstdint>

#include "platform/random.h"

namespace giftsync::sync {
namespace {

constexpr std::string_view kApiKeyPrefix = "gsk_live_";
constexpr std::string_view kOrganizationTokenPrefix = "got_live_";
constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kRandomDigits = 32;
constexpr std::size_t kChecksumDigits = 6;
constexpr std::size_t kPublicPrefixCharacters = 16;

/// Bytes from 248 on would make the first digits more likely than the others.
std::string random_digits(std::size_t count) {
  constexpr unsigned kUnbiasedBytes = 256 / 62 * 62;
  std::string digits;
  while (digits.size() < count) {
    for (const char c : platform::random_bytes(count - digits.size())) {
      const unsigned byte = static_cast<unsigned char>(c);
      if (byte < kUnbiasedBytes) digits += kDigits[byte % kDigits.size()];
    }
  }
  return digits;
}

/// The first 32 bits of the SHA-256, which always fit into six digits.
std::string checksum(std::string_view text) {
  const std::string digest = platform::sha256(text);
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(digest[i]);
  std::string digits(kChecksumDigits, kDigits.front());
  for (std::size_t i = kChecksumDigits; i-- > 0; number /= 62) digits[i] = kDigits[number % 62];
  return digits;
}

NewCredential make_credential(std::string_view fixed_prefix) {
  std::string text = std::string(fixed_prefix) + random_digits(kRandomDigits);
  text += checksum(text);
  return {text, public_prefix(text), api_key_hash(text)};
}

bool is_well_formed(std::string_view fixed_prefix, std::string_view text) {
  if (text.size() != fixed_prefix.size() + kRandomDigits + kChecksumDigits || !text.starts_with(fixed_prefix))
    return false;
  const std::string_view digits = text.substr(fixed_prefix.size());
  if (digits.find_first_not_of(kDigits) != std::string_view::npos) return false;
  return checksum(text.substr(0, text.size() - kChecksumDigits)) ==
         text.substr(text.size() - kChecksumDigits);
}

}  // namespace

NewCredential make_api_key() {
  return make_credential(kApiKeyPrefix);
}

NewCredential make_organization_token() {
  return make_credential(kOrganizationTokenPrefix);
}

bool is_api_key(std::string_view text) {
  return is_well_formed(kApiKeyPrefix, text);
}

bool is_organization_token(std::string_view text) {
  return is_well_formed(kOrganizationTokenPrefix, text);
}

std::string public_prefix(std::string_view key_or_token) {
  return std::string(key_or_token.substr(0, kPublicPrefixCharacters));
}

std::string api_key_hash(std::string_view text) {
  return platform::to_hex(platform::sha256(text));
}

}  // namespace giftsync::sync
