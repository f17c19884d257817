#include "platform/sealed_text.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>

#include "platform/dependency_error.h"
#include "platform/digest.h"

namespace giftsync {
namespace {

constexpr std::string_view kVersion = "v1.";
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* as_octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* as_octets(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

[[noreturn]] void throw_unavailable() {
  ERR_clear_error();
  throw DependencyError(
      false, "OpenSSL provides no AES-256-GCM or HKDF; check its configuration (openssl list -providers)");
}

std::string derived_key(std::string_view secret, std::string_view label) {
  std::string secret_bytes(secret);
  std::string label_bytes(label);
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret_bytes.data(), secret_bytes.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, label_bytes.data(), label_bytes.size()),
      OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> algorithm(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                                    EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(
      algorithm ? EVP_KDF_CTX_new(algorithm.get()) : nullptr, EVP_KDF_CTX_free);
  std::string key(kKeyBytes, '\0');
  if (!context || EVP_KDF_derive(context.get(), as_octets(key), key.size(), parameters) != 1)
    throw_unavailable();
  return key;
}

}  // namespace

std::string seal_text(std::string_view secret, std::string_view label, std::string_view text) {
  const std::string key = derived_key(secret, label);
  const std::string nonce = random_bytes(kNonceBytes);
  const CipherContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string cipher_text(text.size(), '\0');
  std::string tag(kTagBytes, '\0');
  int size = 0;
  int rest = 0;
  const bool done = context &&
                    EVP_EncryptInit_ex2(context.get(), EVP_aes_256_gcm(), as_octets(std::string_view(key)),
                                        as_octets(std::string_view(nonce)), nullptr) == 1 &&
                    EVP_EncryptUpdate(context.get(), as_octets(cipher_text), &size, as_octets(text),
                                      static_cast<int>(text.size())) == 1 &&
                    EVP_EncryptFinal_ex(context.get(), as_octets(cipher_text) + size, &rest) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag.data()) == 1;
  if (!done) throw_unavailable();
  return std::string(kVersion) + to_base64url(nonce + cipher_text + tag);
}

std::optional<std::string> open_sealed_text(std::string_view secret, std::string_view label,
                                            std::string_view sealed) {
  if (!sealed.starts_with(kVersion)) return std::nullopt;
  const std::optional<std::string> bytes = from_base64url(sealed.substr(kVersion.size()));
  if (!bytes || bytes->size() < kNonceBytes + kTagBytes) return std::nullopt;
  const std::string nonce = bytes->substr(0, kNonceBytes);
  const std::string cipher_text = bytes->substr(kNonceBytes, bytes->size() - kNonceBytes - kTagBytes);
  std::string tag = bytes->substr(bytes->size() - kTagBytes);
  const std::string key = derived_key(secret, label);
  const CipherContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (!context || EVP_DecryptInit_ex2(context.get(), EVP_aes_256_gcm(), as_octets(std::string_view(key)),
                                      as_octets(std::string_view(nonce)), nullptr) != 1)
    throw_unavailable();
  std::string text(cipher_text.size(), '\0');
  int size = 0;
  int rest = 0;
  const bool is_authentic =
      EVP_DecryptUpdate(context.get(), as_octets(text), &size, as_octets(std::string_view(cipher_text)),
                        static_cast<int>(cipher_text.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), as_octets(text) + size, &rest) == 1;
  if (!is_authentic) {
    ERR_clear_error();
    return std::nullopt;
  }
  return text;
}

}  // namespace giftsync
