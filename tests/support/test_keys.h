// Generates private keys for tests of signatures, and verifies what they sign.
#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace giftsync::tests {

using TestKey = std::shared_ptr<EVP_PKEY>;

inline TestKey make_rsa_key(unsigned bits = 2048) {
  return TestKey(EVP_RSA_gen(bits), EVP_PKEY_free);
}
/// On P-256.
inline TestKey make_ec_key() {
  return TestKey(EVP_EC_gen("P-256"), EVP_PKEY_free);
}

/// PKCS #8, encrypted unless `passphrase` is empty.
inline std::string private_pem(const TestKey& key, const std::string& passphrase = "") {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  const int done =
      passphrase.empty()
          ? PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr)
          : PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_256_cbc(), passphrase.data(),
                                          static_cast<int>(passphrase.size()), nullptr, nullptr);
  if (done != 1) throw std::runtime_error("no PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

inline std::string public_pem(const TestKey& key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  if (PEM_write_bio_PUBKEY(bio.get(), key.get()) != 1) throw std::runtime_error("no PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// Whether `signature` is the key's RS256 signature of `text`.
inline bool is_rs256_signature(const TestKey& key, std::string_view text, std::string_view signature) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

}  // namespace giftsync::tests
