// Generates certificates for tests of invalid ones.
#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

namespace giftsync::tests {

struct CertificateSpec {
  long not_before_seconds = -86'400;  ///< from now on
  long not_after_seconds = 365L * 86'400;
  unsigned rsa_bits = 2048;  ///< 0: an EC key on P-256
  const EVP_MD* hash = EVP_sha256();
  std::string names = {};  ///< "DNS:gifts.example.com,IP:127.0.0.1"
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
  if (!spec.names.empty()) {
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, spec.names.c_str());
    X509_add_ext(certificate.get(), names, -1);
    X509_EXTENSION_free(names);
  }
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

struct CertificatePair {
  std::string certificate;  ///< PEM
  std::string key;          ///< PEM
};

/// Both parts of a new pair, as a server needs them.
inline CertificatePair make_pair_of(const CertificateSpec& spec = {}) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      spec.rsa_bits > 0 ? EVP_RSA_gen(spec.rsa_bits) : EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {certificate_of(key.get(), spec), {data, static_cast<std::size_t>(size)}};
}

/// A temporary folder for files of certificates and keys.
class CertificateFolder {
 public:
  CertificateFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "giftsync-tls-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  ~CertificateFolder() { std::filesystem::remove_all(folder_); }
  CertificateFolder(const CertificateFolder&) = delete;
  CertificateFolder& operator=(const CertificateFolder&) = delete;

  std::string path(const std::string& name) const { return folder_ / name; }
  void write_file(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::filesystem::remove(path(name));
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), mode);
  }
  /// NAME.pem and NAME.key.
  void write(const std::string& name, const CertificatePair& pair) const {
    write_file(name + ".pem", pair.certificate);
    write_file(name + ".key", pair.key);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace giftsync::tests
