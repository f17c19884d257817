#include "platform/public_key.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>

#include "platform/digest.h"

namespace giftsync::platform {

PublicKey::PublicKey(evp_pkey_st* key) : key_(key, EVP_PKEY_free) {}

std::optional<PublicKey> PublicKey::from_base64(std::string_view text) {
  std::string base64;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.starts_with("-----"))
      std::copy_if(line.begin(), line.end(), std::back_inserter(base64),
                   [](char c) { return c != '\r' && c != ' '; });
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::optional<std::string> der = from_base64_text(base64);
  if (!der) return std::nullopt;
  const auto* bytes = reinterpret_cast<const unsigned char*>(der->data());
  EVP_PKEY* key = d2i_PUBKEY(nullptr, &bytes, static_cast<long>(der->size()));
  if (key == nullptr) return std::nullopt;
  PublicKey public_key(key);
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC) return std::nullopt;
  return public_key;
}

std::optional<PublicKey> PublicKey::from_certificate(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr, X509_free);
  if (!certificate) return std::nullopt;
  const bool is_current = X509_cmp_current_time(X509_get0_notBefore(certificate.get())) < 0 &&
                          X509_cmp_current_time(X509_get0_notAfter(certificate.get())) > 0;
  if (!is_current) return std::nullopt;
  EVP_PKEY* key = X509_get_pubkey(certificate.get());
  if (key == nullptr) return std::nullopt;
  PublicKey public_key(key);
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) return std::nullopt;
  return public_key;
}

bool PublicKey::verifies(std::string_view text, std::string_view signature, SignatureHash hash) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const EVP_MD* digest = hash == SignatureHash::sha1 ? EVP_sha1() : EVP_sha256();
  return context && EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

}  // namespace giftsync::platform
