#include "platform/certificate.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <ctime>
#include <memory>
#include <optional>

#include "platform/digest.h"

namespace giftsync::platform {
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
  if (info.not_after <= now)
    issues.faults.push_back(fmt::format("which expired on {}", iso_date(info.not_after)));
  else if (info.not_after <= now + kExpiryNoticeMillis)
    issues.warnings.push_back(fmt::format("which expires on {}", iso_date(info.not_after)));
  if (info.not_before > now)
    issues.faults.push_back(fmt::format("which is not valid before {}", iso_date(info.not_before)));
  const bool is_rsa = info.key_type == "RSA";
  if (!is_rsa && info.key_type != "EC") {
    issues.faults.push_back(fmt::format("whose key is neither RSA nor EC but {}", info.key_type));
  } else if (const int min_bits = is_rsa ? kMinRsaBits : kMinCurveBits; info.key_bits < min_bits) {
    issues.faults.push_back(fmt::format("whose {} key has {} bits; at least {} are required", info.key_type,
                                        info.key_bits, min_bits));
  }
  if (info.signature_algorithm.find("sha1") != std::string::npos ||
      info.signature_algorithm.find("SHA1") != std::string::npos ||
      info.signature_algorithm.find("md5") != std::string::npos)
    issues.warnings.push_back(fmt::format("which is signed with the weak {}", info.signature_algorithm));
  return issues;
}

}  // namespace giftsync::platform
