#include "platform/public_key.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>

#include "platform/digest.h"

namespace giftsync::platform {
namespace {

constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;  ///< beyond it a verification takes milliseconds
constexpr std::size_t kMaxExponentBytes = 8;
constexpr std::size_t kP256Bytes = 32;

using BigNumber = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using ParameterBuilder = std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)>;

BigNumber big_number(std::string_view bytes) {
  return {BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()),
                    nullptr),
          BN_free};
}

/// ROCA's primes are powers of 65537 modulo many small primes, so the modulus is one, too. A random modulus
/// is one for all of these with a chance of 2^-27.
bool looks_like_roca(const BIGNUM* modulus) {
  for (const BN_ULONG prime : {11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157}) {
    const BN_ULONG remainder = BN_mod_word(modulus, prime);
    BN_ULONG power = 1;
    do {
      power = power * 65537 % prime;
    } while (power != 1 && power != remainder);
    if (power != remainder) return false;
  }
  return true;
}

/// Null when the parameters are no public key of that type.
EVP_PKEY* public_key_of(const char* type, OSSL_PARAM_BLD* builder) {
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(OSSL_PARAM_BLD_to_param(builder),
                                                                           OSSL_PARAM_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (parameters && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) == 1)
    return key;
  return nullptr;
}

}  // namespace

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

std::optional<PublicKey> PublicKey::from_rsa_numbers(std::string_view modulus, std::string_view exponent) {
  if (modulus.size() > kMaxRsaBits / 8 || exponent.size() > kMaxExponentBytes) return std::nullopt;
  const BigNumber n = big_number(modulus);
  const BigNumber e = big_number(exponent);
  const bool is_usable = n && e && BN_num_bits(n.get()) >= kMinRsaBits && BN_is_odd(n.get()) &&
                         BN_is_odd(e.get()) && !BN_is_one(e.get()) && !looks_like_roca(n.get());
  const ParameterBuilder builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  if (!is_usable || !builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return std::nullopt;
  EVP_PKEY* key = public_key_of("RSA", builder.get());
  return key == nullptr ? std::nullopt : std::optional(PublicKey(key));
}

std::optional<PublicKey> PublicKey::from_p256_point(std::string_view x, std::string_view y) {
  const ParameterBuilder builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  const std::string point = "\x04" + std::string(x) + std::string(y);
  if (x.size() != kP256Bytes || y.size() != kP256Bytes || !builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) !=
          1)
    return std::nullopt;
  EVP_PKEY* key = public_key_of("EC", builder.get());  // refuses a point that is not on the curve
  return key == nullptr ? std::nullopt : std::optional(PublicKey(key));
}

bool PublicKey::verifies_p256_pair(std::string_view text, std::string_view signature) const {
  if (signature.size() != 2 * kP256Bytes || EVP_PKEY_get_base_id(key_.get()) != EVP_PKEY_EC) return false;
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(ECDSA_SIG_new(), ECDSA_SIG_free);
  BigNumber r = big_number(signature.substr(0, kP256Bytes));
  BigNumber s = big_number(signature.substr(kP256Bytes));
  if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return false;
  static_cast<void>(r.release());  // they belong to the pair now
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(pair.get(), &der);
  if (length <= 0) return false;
  const std::string encoded(reinterpret_cast<const char*>(der), static_cast<std::size_t>(length));
  OPENSSL_free(der);
  return verifies(text, encoded, SignatureHash::sha256);
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
