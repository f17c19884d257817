#include "platform/keys.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/objects.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "platform/dependency_error.h"
#include "platform/digest.h"

namespace giftsync {

namespace {

constexpr int kMinRsaBits = 2048;
constexpr int kMinCurveBits = 256;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

std::string bio_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string name_text(const X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  return bio_text(bio.get());
}

std::optional<UtcMillis> utc_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return UtcMillis{static_cast<std::int64_t>(::timegm(&parts)) * 1000};
}

std::string key_type_of(const EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "RSA") == 1 || EVP_PKEY_is_a(key, "RSA-PSS") == 1) return "RSA";
  if (EVP_PKEY_is_a(key, "EC") == 1) return "EC";
  const char* name = EVP_PKEY_get0_type_name(key);
  return name == nullptr ? "unknown" : name;
}

std::string signature_algorithm_of(const X509* certificate) {
  const char* name = OBJ_nid2ln(X509_get_signature_nid(certificate));
  return name == nullptr ? "unknown" : name;
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  return to_hex(std::string(digest.begin(), digest.begin() + size));
}

std::string iso_date(UtcMillis time) {
  return to_rfc3339(time).substr(0, 10);
}

}  // namespace

tl::expected<CertificateInfo, std::string> parse_certificate(std::string_view pem) {
  if (pem.find("PRIVATE KEY-----") != std::string_view::npos)
    return tl::make_unexpected(
        "which contains a private key; the private key must stay with the identity provider");
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  if (!certificate)
    return tl::make_unexpected("which is not an X.509 certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  const Certificate extra(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  if (extra) return tl::make_unexpected("which has more than one certificate");
  const EVP_PKEY* key = X509_get0_pubkey(certificate.get());
  if (key == nullptr) return tl::make_unexpected("whose key cannot be read");
  const auto not_before = utc_time(X509_get0_notBefore(certificate.get()));
  const auto not_after = utc_time(X509_get0_notAfter(certificate.get()));
  if (!not_before || !not_after) return tl::make_unexpected("whose dates cannot be read");
  return CertificateInfo{name_text(X509_get_subject_name(certificate.get())),
                         name_text(X509_get_issuer_name(certificate.get())),
                         *not_before,
                         *not_after,
                         key_type_of(key),
                         EVP_PKEY_get_bits(key),
                         signature_algorithm_of(certificate.get()),
                         fingerprint_of(certificate.get())};
}

CertificateIssues validate_certificate(const CertificateInfo& info, UtcMillis now) {
  CertificateIssues issues;
  const auto add = [&](CertificateCause cause, std::string clause) {
    issues.faults.push_back({cause, std::move(clause)});
  };
  if (info.not_after <= now)
    add(CertificateCause::expired, fmt::format("which expired on {}", iso_date(info.not_after)));
  else if (info.not_after <= now + kExpiryNoticeMillis)
    issues.warnings.push_back(fmt::format("which expires on {}", iso_date(info.not_after)));
  if (info.not_before > now)
    add(CertificateCause::not_yet_valid,
        fmt::format("which is not valid before {}", iso_date(info.not_before)));
  const bool is_rsa = info.key_type == "RSA";
  if (!is_rsa && info.key_type != "EC") {
    add(CertificateCause::weak_key, fmt::format("whose key is neither RSA nor EC but {}", info.key_type));
  } else if (const int min_bits = is_rsa ? kMinRsaBits : kMinCurveBits; info.key_bits < min_bits) {
    add(CertificateCause::weak_key, fmt::format("whose {} key has {} bits; at least {} are required",
                                                info.key_type, info.key_bits, min_bits));
  }
  if (info.signature_algorithm.find("sha1") != std::string::npos ||
      info.signature_algorithm.find("SHA1") != std::string::npos ||
      info.signature_algorithm.find("md5") != std::string::npos)
    issues.warnings.push_back(fmt::format("which is signed with the weak {}", info.signature_algorithm));
  return issues;
}

namespace {

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
