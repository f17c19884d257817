#include "tests/salesforce/fake_org/jwt_check.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "platform/digest.h"

namespace giftsync::tests::fake_org {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;

Key key_of(const std::string& pem) {
  const Bytes bytes(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  if (pem.find("CERTIFICATE") == std::string::npos)
    return {PEM_read_bio_PUBKEY(bytes.get(), nullptr, nullptr, nullptr), EVP_PKEY_free};
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), X509_free);
  return {certificate ? X509_get_pubkey(certificate.get()) : nullptr, EVP_PKEY_free};
}

bool verifies(EVP_PKEY* key, const std::string& text, const std::string& signature) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1) return false;
  return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

Json part(const std::string& text) {
  const std::optional<std::string> bytes = from_base64url(text);
  return bytes ? read_json(*bytes) : Json();
}

}  // namespace

std::optional<Json> verified_claims(const std::string& token, const std::string& pem) {
  const std::size_t first = token.find('.');
  const std::size_t second = token.rfind('.');
  if (first == std::string::npos || second == first) return std::nullopt;
  const Json header = part(token.substr(0, first));
  const Json claims = part(token.substr(first + 1, second - first - 1));
  const std::optional<std::string> signature = from_base64url(token.substr(second + 1));
  if (!header.is_object() || header.value("alg", "") != "RS256" || !claims.is_object() || !signature)
    return std::nullopt;
  const Key key = key_of(pem);
  // Salesforce takes RSA keys only.
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) return std::nullopt;
  return verifies(key.get(), token.substr(0, second), *signature) ? std::optional(claims) : std::nullopt;
}

}  // namespace giftsync::tests::fake_org
