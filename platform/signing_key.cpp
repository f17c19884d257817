#include "platform/signing_key.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "platform/dependency_error.h"
#include "platform/digest.h"

namespace giftsync::platform {
namespace {

/// Without it OpenSSL would ask for the passphrase on the terminal.
int refuse_passphrase(char*, int, int, void*) {
  return -1;
}

/// Why a PEM text has no private key that can be read.
std::string pem_fault(std::string_view pem) {
  const auto has = [&](std::string_view words) { return pem.find(words) != std::string_view::npos; };
  if (has("ENCRYPTED")) return "which is protected by a passphrase";
  if (has("BEGIN CERTIFICATE")) return "which is a certificate and not the private key";
  if (has("BEGIN PUBLIC KEY")) return "which is a public key and not the private key";
  if (has("PRIVATE KEY")) return "which is a damaged private key";
  return "which is not a private key in PEM form";
}

/// Why a key cannot sign RS256; empty when it can.
std::string key_fault(const EVP_PKEY* key) {
  const int kind = EVP_PKEY_get_base_id(key);
  if (kind == EVP_PKEY_EC) return "which is an EC key, and RS256 needs an RSA key";
  if (kind != EVP_PKEY_RSA) return "which is not an RSA key, and RS256 needs one";
  const int bits = EVP_PKEY_get_bits(key);
  if (bits < kMinSigningKeyBits)
    return "which is an RSA key of " + std::to_string(bits) + " bits, and at least " +
           std::to_string(kMinSigningKeyBits) + " are needed";
  return {};
}

[[noreturn]] void throw_unsigned() {
  ERR_clear_error();
  throw DependencyError(
      false, "OpenSSL cannot sign with RSA and SHA-256; check its configuration (openssl list -providers)");
}

}  // namespace

SigningKey::SigningKey(evp_pkey_st* key) : key_(key, EVP_PKEY_free) {}

tl::expected<SigningKey, std::string> SigningKey::from_pem(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  EVP_PKEY* read = bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse_passphrase, nullptr) : nullptr;
  if (read == nullptr) {
    ERR_clear_error();
    return tl::unexpected(pem_fault(pem));
  }
  SigningKey key(read);
  if (std::string fault = key_fault(read); !fault.empty()) return tl::unexpected(std::move(fault));
  return key;
}

std::string SigningKey::sign(std::string_view text) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1)
    throw_unsigned();
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                     text.size()) != 1)
    throw_unsigned();
  signature.resize(size);
  return signature;
}

std::string signed_jwt(const SigningKey& key, std::string_view claims) {
  const std::string text = to_base64url(R"({"alg":"RS256"})") + "." + to_base64url(claims);
  return text + "." + to_base64url(key.sign(text));
}

}  // namespace giftsync::platform
