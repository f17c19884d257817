#include "daemon/sso/certificate.h"

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

#include "daemon/crypto/digest.h"

namespace giftsync::daemon {
namespace {

constexpr int kLeastRsaBits = 2048;
constexpr int kLeastCurveBits = 256;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string name_text(const X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  return text_of(bio.get());
}

std::optional<schema::UtcMillis> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return schema::UtcMillis{static_cast<std::int64_t>(::timegm(&parts)) * 1000};
}

std::string key_type_of(const EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "RSA") == 1 || EVP_PKEY_is_a(key, "RSA-PSS") == 1) return "RSA";
  if (EVP_PKEY_is_a(key, "EC") == 1) return "EC";
  const char* name = EVP_PKEY_get0_type_name(key);
  return name == nullptr ? "unknown" : name;
}

std::string signature_of(const X509* certificate) {
  const char* name = OBJ_nid2ln(X509_get_signature_nid(certificate));
  return name == nullptr ? "unknown" : name;
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  return to_hex(std::string(digest.begin(), digest.begin() + size));
}

std::string day_of(schema::UtcMillis time) {
  return schema::to_rfc3339(time).substr(0, 10);
}

}  // namespace

std::variant<CertificateFacts, std::string> read_certificate(std::string_view pem) {
  if (pem.find("PRIVATE KEY-----") != std::string_view::npos)
    return "which has a private key in it: the identity provider's stays with the identity provider";
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  if (!certificate) return "which is no X.509 certificate in PEM form (-----BEGIN CERTIFICATE-----)";
  const Certificate second(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  if (second) return "which has more than one certificate";
  const EVP_PKEY* key = X509_get0_pubkey(certificate.get());
  if (key == nullptr) return "whose key cannot be read";
  const auto begins = time_of(X509_get0_notBefore(certificate.get()));
  const auto ends = time_of(X509_get0_notAfter(certificate.get()));
  if (!begins || !ends) return "whose dates cannot be read";
  return CertificateFacts{name_text(X509_get_subject_name(certificate.get())),
                          name_text(X509_get_issuer_name(certificate.get())),
                          *begins,
                          *ends,
                          key_type_of(key),
                          EVP_PKEY_get_bits(key),
                          signature_of(certificate.get()),
                          fingerprint_of(certificate.get())};
}

CertificateJudgement judge_certificate(const CertificateFacts& facts, schema::UtcMillis now) {
  CertificateJudgement judgement;
  if (facts.not_after <= now)
    judgement.faults.push_back(fmt::format("which expired on {}", day_of(facts.not_after)));
  else if (facts.not_after <= now + kCertificateNoticeMillis)
    judgement.warnings.push_back(fmt::format("which expires on {}", day_of(facts.not_after)));
  if (facts.not_before > now)
    judgement.faults.push_back(fmt::format("which is not valid before {}", day_of(facts.not_before)));
  const bool is_rsa = facts.key_type == "RSA";
  if (!is_rsa && facts.key_type != "EC") {
    judgement.faults.push_back(fmt::format("whose key is neither RSA nor EC but {}", facts.key_type));
  } else if (const int least = is_rsa ? kLeastRsaBits : kLeastCurveBits; facts.key_bits < least) {
    judgement.faults.push_back(
        fmt::format("whose {} key has {} bits; {} are the least", facts.key_type, facts.key_bits, least));
  }
  if (facts.signature.find("sha1") != std::string::npos ||
      facts.signature.find("SHA1") != std::string::npos || facts.signature.find("md5") != std::string::npos)
    judgement.warnings.push_back(fmt::format("which is signed with the weak {}", facts.signature));
  return judgement;
}

}  // namespace giftsync::daemon
