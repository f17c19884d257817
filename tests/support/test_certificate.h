// Generates certificates for tests of invalid ones.
#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace giftsync::tests {

struct CertificateSpec {
  long not_before_seconds = -86'400;  ///< from now on
  long not_after_seconds = 365L * 86'400;
  unsigned rsa_bits = 2048;  ///< 0: an EC key on P-256
  const EVP_MD* hash = EVP_sha256();
};

/// Self-signed with `key`, PEM.
inline std::string certificate_of(EVP_PKEY* key, const CertificateSpec& spec = {}) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  if (!key || !certificate) throw std::runtime_error("no key");
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), spec.not_before_seconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), spec.not_after_seconds);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>("idp.example.com"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_set_pubkey(certificate.get(), key);
  if (X509_sign(certificate.get(), key, spec.hash) == 0) throw std::runtime_error("not signed");
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), certificate.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// The same with a new key.
inline std::string make_certificate(const CertificateSpec& spec = {}) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      spec.rsa_bits > 0 ? EVP_RSA_gen(spec.rsa_bits) : EVP_EC_gen("P-256"), EVP_PKEY_free);
  return certificate_of(key.get(), spec);
}

}  // namespace giftsync::tests
