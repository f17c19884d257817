#include "daemon/crypto/api_key.h"

#include <cstdint>

#include "daemon/crypto/random.h"

namespace giftsync::daemon {
namespace {

constexpr std::string_view kKeyMark = "gsk_live_";
constexpr std::string_view kTokenMark = "got_live_";
constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kRandomDigits = 32;
constexpr std::size_t kChecksumDigits = 6;
constexpr std::size_t kPrefixCharacters = 16;

/// Bytes from 248 on would make the first digits likelier than the others.
std::string random_digits(std::size_t count) {
  constexpr unsigned kFairBytes = 256 / 62 * 62;
  std::string digits;
  while (digits.size() < count) {
    for (const char c : random_bytes(count - digits.size())) {
      const unsigned byte = static_cast<unsigned char>(c);
      if (byte < kFairBytes) digits += kDigits[byte % kDigits.size()];
    }
  }
  return digits;
}

/// The first 32 bits of the SHA-256, which always fit into six digits.
std::string checksum(std::string_view text) {
  const std::string digest = sha256(text);
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(digest[i]);
  std::string digits(kChecksumDigits, kDigits.front());
  for (std::size_t i = kChecksumDigits; i-- > 0; number /= 62) digits[i] = kDigits[number % 62];
  return digits;
}

NewKey make(std::string_view mark) {
  std::string text = std::string(mark) + random_digits(kRandomDigits);
  text += checksum(text);
  return {text, public_prefix(text), api_key_hash(text)};
}

bool is_made(std::string_view mark, std::string_view text) {
  if (text.size() != mark.size() + kRandomDigits + kChecksumDigits || !text.starts_with(mark)) return false;
  const std::string_view digits = text.substr(mark.size());
  if (digits.find_first_not_of(kDigits) != std::string_view::npos) return false;
  return checksum(text.substr(0, text.size() - kChecksumDigits)) ==
         text.substr(text.size() - kChecksumDigits);
}

}  // namespace

NewKey make_api_key() {
  return make(kKeyMark);
}

NewKey make_organization_token() {
  return make(kTokenMark);
}

bool is_api_key(std::string_view text) {
  return is_made(kKeyMark, text);
}

bool is_organization_token(std::string_view text) {
  return is_made(kTokenMark, text);
}

std::string public_prefix(std::string_view key_or_token) {
  return std::string(key_or_token.substr(0, kPrefixCharacters));
}

std::string api_key_hash(std::string_view text) {
  return to_hex(sha256(text));
}

}  // namespace giftsync::daemon
