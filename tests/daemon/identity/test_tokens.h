// Makes keys, key sets and signed tokens for tests of sign-in, valid and invalid ones.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/digest.h"
#include "platform/text.h"
#include "tests/source_folder.h"
#include "tests/support/json.h"
#include "tests/support/test_keys.h"

namespace giftsync::tests {

using nlohmann::json;

inline std::string key_number(const TestKey& key, const char* name, int bytes = 0) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key.get(), name, &number) != 1) throw std::runtime_error("no such number");
  const int size = bytes == 0 ? BN_num_bytes(number) : bytes;
  std::string text(static_cast<std::size_t>(size), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()), size);
  BN_free(number);
  return text;
}

/// The public key as an element of a JSON Web Key Set.
inline json jwk_of(const TestKey& key, const std::string& kid) {
  json jwk{{"use", "sig"}};
  if (!kid.empty()) jwk["kid"] = kid;
  if (EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_RSA) {
    jwk.update({{"kty", "RSA"},
                {"n", to_base64url(key_number(key, OSSL_PKEY_PARAM_RSA_N))},
                {"e", to_base64url(key_number(key, OSSL_PKEY_PARAM_RSA_E))}});
  } else {
    jwk.update({{"kty", "EC"},
                {"crv", "P-256"},
                {"x", to_base64url(key_number(key, OSSL_PKEY_PARAM_EC_PUB_X, 32))},
                {"y", to_base64url(key_number(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32))}});
  }
  return jwk;
}

/// The signature of a JWS: PKCS #1 or r and s.
inline std::string jws_signature(const TestKey& key, const std::string& text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1)
    throw std::runtime_error("no signature");
  std::string made(size, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(made.data()), &size, bytes, text.size());
  made.resize(size);
  if (EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_RSA) return made;
  const auto* der = reinterpret_cast<const unsigned char*>(made.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(made.size())), ECDSA_SIG_free);
  std::string raw(64, '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), reinterpret_cast<unsigned char*>(raw.data()), 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), reinterpret_cast<unsigned char*>(raw.data()) + 32, 32);
  return raw;
}

/// A compact token whose header and payload are these very texts.
inline std::string token_of(const TestKey& key, const std::string& header, const std::string& payload) {
  const std::string text = to_base64url(header) + "." + to_base64url(payload);
  return text + "." + to_base64url(jws_signature(key, text));
}
inline std::string token_of(const TestKey& key, const json& header, const json& payload) {
  return token_of(key, header.dump(), payload.dump());
}

/// What the environment says, for runs by hand: more mutations, another seed.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given ? parse_number<std::uint64_t>(given).value_or(otherwise) : otherwise;
}

/// A document of another project's tests; empty where they are missing. GIFTSYNC_SIGN_IN_SUITES names another
/// folder.
inline std::string sign_in_suite(const std::string& name) {
  const char* given = std::getenv("GIFTSYNC_SIGN_IN_SUITES");
  std::ifstream file((given ? given : std::string(kSourceFolder) + "/../shared/data/sign-in-suites") + "/" +
                     name);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string();
}

}  // namespace giftsync::tests
