// Which pairs of certificate and key a server may use, and what is said of the others.
#include "platform/server_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "platform/clock.h"
#include "tests/support/other_user.h"
#include "tests/support/test_certificate.h"

namespace giftsync {
namespace {

using testing::HasSubstr;
using tests::CertificatePair;
using tests::CertificateSpec;
using tests::make_pair_of;

constexpr long kDay = 86'400;

struct PairCase {
  std::string name;
  bool is_of_key;
  std::string certificate;  ///< the file's text
  std::string key;          ///< the file's text
  mode_t key_mode;
  std::string found;
  std::string next_step;
};

class RefusedPairs : public testing::Test {
 protected:
  tests::CertificateFolder folder_;
  CertificatePair good_ = make_pair_of({.rsa_bits = 0});
};

std::string with_passphrase(EVP_PKEY* key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
  unsigned char passphrase[] = "secret";
  PEM_write_bio_PKCS8PrivateKey(
      bio.get(), key, EVP_aes_256_cbc(), nullptr, 0,
      [](char* text, int, int, void*) {
        std::copy_n("secret", 6, text);
        return 6;
      },
      passphrase);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// OPS-48
TEST_F(RefusedPairs, AreNamedWithFileReasonAndNextStep) {
  const CertificatePair other = make_pair_of({.rsa_bits = 0});
  CertificateSpec weak_spec;
  weak_spec.rsa_bits = 1024;
  const CertificatePair weak = make_pair_of(weak_spec);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> ed25519(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
  const std::string damaged =
      good_.certificate + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const std::vector<PairCase> cases{
      {"key of another", true, good_.certificate, other.key, 0600, "which is not the key of the certificate",
       "the two files of one pair"},
      {"intermediate first", true, other.certificate + good_.certificate, good_.key, 0600,
       "which is not the key of the certificate", "the server's own comes first"},
      {"weak", false, weak.certificate, weak.key, 0600, "whose RSA key has 1024 bits",
       "have a new pair made, with an RSA key of 2048 bits"},
      {"of another kind", false, tests::certificate_of(ed25519.get(), {.hash = nullptr}), other.key, 0600,
       "neither RSA nor EC", "have a new pair made"},
      {"key of all users", true, good_.certificate, good_.key, 0644, "which all users of this host may read",
       "chmod o-rwx"},
      {"key that all may write", true, good_.certificate, good_.key, 0602, "may read or write",
       "chmod o-rwx"},
      {"swapped", false, good_.key, good_.certificate, 0600, "which has a private key and no certificate",
       "name the certificate's file here"},
      {"binary", false, "\x30\x82\x01", good_.key, 0600, "which is binary (DER)",
       "openssl x509 -inform der -in "},
      {"binary key", true, good_.certificate, "\x30\x81\x01", 0600, "which is binary (DER)",
       "openssl pkey -inform der -in "},
      {"no certificate", false, "text", good_.key, 0600, "which has no X.509 certificate", "fullchain.pem"},
      {"no key", true, good_.certificate, good_.certificate, 0600, "which is not a private key in PEM form",
       "name the file"},
      {"passphrase", true, tests::certificate_of(key.get()), with_passphrase(key.get()), 0600,
       "whose key has a passphrase", "openssl pkey -in "},
      {"empty", false, "", good_.key, 0600, "which has no X.509 certificate", "fullchain.pem"},
      {"damaged chain", false, damaged, good_.key, 0600, "in which a certificate is damaged",
       "fullchain.pem"},
  };
  for (const PairCase& one : cases) {
    SCOPED_TRACE(one.name);
    folder_.write_file("a.pem", one.certificate, 0644);
    folder_.write_file("a.key", one.key, one.key_mode);
    const auto read = read_server_certificate(folder_.path("a.pem"), folder_.path("a.key"));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().is_of_key, one.is_of_key);
    EXPECT_THAT(read.error().found, HasSubstr(folder_.path(one.is_of_key ? "a.key" : "a.pem") + ", "));
    EXPECT_THAT(read.error().found, HasSubstr(one.found));
    EXPECT_THAT(read.error().next_step, HasSubstr(one.next_step));
  }
}

// OPS-48: a start uses such a pair, and says so.
TEST(ServerCertificates, AreReadWhateverTheirDates) {
  const tests::CertificateFolder folder;
  const UtcMillis now = system_now();
  struct Case {
    long begin;
    long end;
    CertificateState state;
    std::string found;      ///< empty: valid
    std::string next_step;  ///< a part
  };
  const std::vector<Case> cases{
      {-kDay, 400 * kDay, CertificateState::good, "", ""},
      {-kDay, 13 * kDay, CertificateState::ending, "", ""},
      {-400 * kDay, -kDay, CertificateState::expired, ", which expired on ",
       "certbot renew; this host's clock says 20"},
      {kDay, 400 * kDay, CertificateState::not_yet_valid, ", which is not valid before ",
       "correct the clock: this host's clock says 20"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.found);
    folder.write("a", make_pair_of({one.begin, one.end, 0}));
    const auto read = read_server_certificate(folder.path("a.pem"), folder.path("a.key"));
    ASSERT_TRUE(read) << read.error().found;
    EXPECT_EQ(read->dates.state_at(now), one.state);
    EXPECT_EQ(read->dates.are_valid_at(now), one.found.empty());
    const auto fault = date_fault(folder.path("a.pem"), read->dates, now);
    ASSERT_EQ(fault.has_value(), !one.found.empty());
    if (!fault) continue;
    EXPECT_FALSE(fault->is_of_key);
    EXPECT_THAT(fault->found, HasSubstr(folder.path("a.pem") + one.found));
    EXPECT_THAT(fault->next_step, HasSubstr(one.next_step));
  }
}

TEST_F(RefusedPairs, MayBeFilesThatAreNotThereOrNotReadable) {
  const auto missing = read_server_certificate(folder_.path("a.pem"), folder_.path("a.key"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().found, HasSubstr("a.pem, which cannot be read (No such file or directory)"));
  EXPECT_THAT(missing.error().next_step, HasSubstr("correct the path"));
  const auto is_folder = read_server_certificate(folder_.path(""), folder_.path("a.key"));
  ASSERT_FALSE(is_folder);
  EXPECT_THAT(is_folder.error().found, HasSubstr("which cannot be read (Is a directory)"));
  EXPECT_THAT(is_folder.error().next_step, HasSubstr("name the file itself"));
  folder_.write_file("a.pem", good_.certificate, 0644);
  folder_.write_file("a.key", good_.key, 0);
  ASSERT_EQ(::chmod(folder_.path("").c_str(), 0755), 0);
  const tests::OtherUser other;
  const auto closed = read_server_certificate(folder_.path("a.pem"), folder_.path("a.key"));
  ASSERT_FALSE(closed);
  EXPECT_TRUE(closed.error().is_of_key);
  EXPECT_THAT(closed.error().found, HasSubstr("which cannot be read (Permission denied)"));
  EXPECT_THAT(closed.error().next_step, HasSubstr("let the service's user read it and enter its folders"));
}

TEST(ServerCertificates, OfBothKindsOfKeysComeWithTheirChainAndNames) {
  const tests::CertificateFolder folder;
  for (const unsigned rsa_bits : {0U, 2048U}) {
    CertificateSpec spec;
    spec.rsa_bits = rsa_bits;
    spec.names = "DNS:gifts.example.com,DNS:*.admin.example.com,IP:127.0.0.1,IP:2001:db8::1";
    const CertificatePair pair = make_pair_of(spec);
    folder.write_file("a.pem", pair.certificate + tests::make_certificate());
    folder.write_file("a.key", pair.key, 0640);
    const auto read = read_server_certificate(folder.path("a.pem"), folder.path("a.key"));
    ASSERT_TRUE(read) << read.error().found;
    EXPECT_EQ(read->chain.size(), 2u);
    EXPECT_GT(read->dates.not_after, system_now() + 364 * kDayMillis);
    for (const char* host :
         {"gifts.example.com", "GIFTS.example.com", "a.admin.example.com", "127.0.0.1", "2001:db8::1"})
      EXPECT_TRUE(read->covers(host)) << host;
    for (const char* host :
         {"example.com", "gifts.example.com.evil.org", "admin.example.com", "127.0.0.2", ""})
      EXPECT_FALSE(read->covers(host)) << host;
  }
}

}  // namespace
}  // namespace giftsync
