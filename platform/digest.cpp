#include "platform/digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>

#include "platform/dependency_error.h"

namespace giftsync {
namespace {

const unsigned char* as_octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* as_octets(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

/// For example when a FIPS provider failed its self-test.
[[noreturn]] void throw_no_sha256() {
  throw DependencyError(false,
                        "OpenSSL provides no SHA-256; check its configuration (openssl list -providers)");
}

/// Lives as long as the program; null when OpenSSL lacks the algorithm.
const EVP_MAC_CTX* hmac_sha256_without_key() {
  EVP_MAC* const algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  EVP_MAC_CTX* const mac = algorithm == nullptr ? nullptr : EVP_MAC_CTX_new(algorithm);
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  if (mac != nullptr && EVP_MAC_CTX_set_params(mac, parameters) == 1) return mac;
  EVP_MAC_CTX_free(mac);
  return nullptr;
}

int nibble(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  // Fetching the algorithm costs more than digesting a key, so it is fetched once.
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::string digest(kSha256Bytes, '\0');
  if (algorithm == nullptr ||
      EVP_Digest(bytes.data(), bytes.size(), as_octets(digest), nullptr, algorithm, nullptr) != 1)
    throw_no_sha256();
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  // Fetching the algorithms costs more than signing a link, so each call starts from a copy.
  static const EVP_MAC_CTX* const without_key = hmac_sha256_without_key();
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> mac(
      without_key == nullptr ? nullptr : EVP_MAC_CTX_dup(without_key), &EVP_MAC_CTX_free);
  std::string code(kSha256Bytes, '\0');
  std::size_t length = 0;
  const bool done = mac && EVP_MAC_init(mac.get(), as_octets(key), key.size(), nullptr) == 1 &&
                    EVP_MAC_update(mac.get(), as_octets(bytes), bytes.size()) == 1 &&
                    EVP_MAC_final(mac.get(), as_octets(code), &length, code.size()) == 1;
  if (!done || length != kSha256Bytes) throw_no_sha256();
  return code;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    digits += {kDigits[byte >> 4], kDigits[byte & 0xF]};
  }
  return digits;
}

std::string sha256_hex(std::string_view bytes) {
  return to_hex(sha256(bytes));
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = nibble(digits[i]);
    const int low = nibble(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string to_base64_text(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // the library ends it with a NUL
  const int length = EVP_EncodeBlock(as_octets(text), as_octets(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string to_base64url(std::string_view bytes) {
  std::string text = to_base64_text(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string padded(text);
  std::replace(padded.begin(), padded.end(), '-', '+');
  std::replace(padded.begin(), padded.end(), '_', '/');
  const std::size_t padding = (4 - padded.size() % 4) % 4;
  padded.append(padding, '=');
  std::string bytes(padded.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(as_octets(bytes), as_octets(padded), static_cast<int>(padded.size()));
  if (length < static_cast<int>(padding)) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(length) - padding);
  // The library also accepts white space, '+', '/', padding and loose last bits. Only the canonical form is
  // valid here.
  if (to_base64url(bytes) != text) return std::nullopt;
  return bytes;
}

std::optional<std::string> from_base64_text(std::string_view text) {
  std::string url(text);
  if (url.find_first_of("-_") != std::string::npos) return std::nullopt;
  if (url.ends_with('=') && url.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && url.ends_with('='); ++padding) url.pop_back();
  std::replace(url.begin(), url.end(), '+', '-');
  std::replace(url.begin(), url.end(), '/', '_');
  return from_base64url(url);
}

std::optional<std::string> standard_webhook_key(std::string_view secret) {
  constexpr std::string_view kPrefix = "whsec_";
  constexpr std::size_t kMinBytes = 16;
  if (secret.starts_with(kPrefix)) secret.remove_prefix(kPrefix.size());
  std::optional<std::string> key = from_base64_text(secret);
  if (key && key->size() < kMinBytes) return std::nullopt;
  return key;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_priv_bytes_ex(nullptr, reinterpret_cast<unsigned char*>(bytes.data()), count, 0) != 1) {
    throw DependencyError(true, "the system returned no random bytes; check that /dev/urandom exists");
  }
  return bytes;
}

std::string random_hex(std::size_t bytes) {
  return to_hex(random_bytes(bytes));
}

}  // namespace giftsync
