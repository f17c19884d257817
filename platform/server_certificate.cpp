#include "platform/server_certificate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "platform/ip_address.h"
#include "platform/keys.h"

namespace giftsync {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 10;
/// Of the certificates that a server sends along.
constexpr std::size_t kMaxChain = 10;

struct FileText {
  std::string text;
  mode_t mode = 0;
};

tl::unexpected<CertificateFault> fault(bool is_of_key, const std::string& file, const std::string& clause,
                                       std::string next_step) {
  return tl::unexpected(CertificateFault{is_of_key, file + ", " + clause, std::move(next_step)});
}

/// Or errno, why the file cannot be read.
tl::expected<FileText, int> read_file(const std::string& path) {
  // Non-blocking, so that a named pipe without a writer holds up nothing.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return tl::unexpected(errno);
  FileText file;
  struct stat facts {};
  if (::fstat(descriptor, &facts) == 0) file.mode = facts.st_mode;
  std::array<char, 4096> part{};
  ssize_t count = 0;
  while (file.text.size() <= kMaxFileBytes && (count = ::read(descriptor, part.data(), part.size())) > 0)
    file.text.append(part.data(), static_cast<std::size_t>(count));
  const int error = errno;
  ::close(descriptor);
  if (count < 0) return tl::unexpected(error);
  return file;
}

Bio bio_of(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

/// The facts of the server's own certificate.
tl::expected<CertificateInfo, std::string> info_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return parse_certificate({data, static_cast<std::size_t>(size)});
}

/// Without it OpenSSL would ask for the passphrase on the terminal. `found`: whether the key has one.
int note_passphrase(char*, int, int, void* found) {
  *static_cast<bool*>(found) = true;
  return -1;
}

/// What to do about a file that could not be read because of `error`.
std::string step_to_read(int error) {
  switch (error) {
    case ENOENT:
      return "create it, or correct the path";
    case EISDIR:
    case ENOTDIR:
      return "name the file itself";
    case EACCES:
    case EPERM:
      return "let the service's user read it and enter its folders, for example with chgrp giftsync and "
             "chmod "
             "0640, or give it as a systemd credential";
    default:
      return "check the disk, or restore it from where it was made";
  }
}

bool has_private_key(std::string_view text) {
  return text.find("PRIVATE KEY-----") != std::string_view::npos;
}

/// Binary, as openssl writes it with -outform DER: a long sequence.
bool is_der(std::string_view text) {
  return text.size() > 1 && text[0] == '\x30' && (static_cast<unsigned char>(text[1]) & 0x80) != 0;
}

tl::unexpected<CertificateFault> cannot_read(bool is_of_key, const std::string& path, int error) {
  return fault(is_of_key, path, "which cannot be read (" + std::generic_category().message(error) + ")",
               step_to_read(error));
}

tl::expected<std::shared_ptr<EVP_PKEY>, CertificateFault> read_key(const std::string& path) {
  const auto file = read_file(path);
  if (!file) return cannot_read(true, path, file.error());
  if ((file->mode & S_IROTH) != 0 || (file->mode & S_IWOTH) != 0)
    return fault(true, path, "which all users of this host may read or write",
                 "run chmod o-rwx on it; if others could read it, have a new pair made");
  bool has_passphrase = false;
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio_of(file->text).get(), nullptr, note_passphrase, &has_passphrase),
      EVP_PKEY_free);
  ERR_clear_error();
  if (has_passphrase)
    return fault(true, path, "whose key has a passphrase",
                 fmt::format("write it without one: (umask 077; openssl pkey -in {} -out NEW_FILE)", path));
  if (!key && is_der(file->text))
    return fault(
        true, path, "which is binary (DER)",
        fmt::format("write it in PEM form: (umask 077; openssl pkey -inform der -in {} -out NEW_FILE)",
                    path));
  if (!key)
    return fault(true, path, "which is not a private key in PEM form (-----BEGIN PRIVATE KEY-----)",
                 "name the file with the certificate's private key");
  return key;
}

constexpr const char* kPemNext =
    "name a PEM file with the server's certificate first and the intermediate ones after it, such as "
    "certbot's "
    "fullchain.pem";

}  // namespace

CertificateState CertificateDates::state_at(UtcMillis now) const {
  if (now < not_before) return CertificateState::not_yet_valid;
  if (not_after <= now) return CertificateState::expired;
  return not_after <= now + kRenewalNoticeMillis ? CertificateState::ending : CertificateState::good;
}

bool CertificateDates::are_valid_at(UtcMillis now) const {
  const CertificateState state = state_at(now);
  return state == CertificateState::good || state == CertificateState::ending;
}

std::optional<CertificateFault> date_fault(const std::string& certificate_file, const CertificateDates& dates,
                                           UtcMillis now) {
  if (dates.are_valid_at(now)) return std::nullopt;
  const std::string clock = fmt::format("this host's clock says {} UTC", minute_text(now));
  if (dates.state_at(now) == CertificateState::expired)
    return CertificateFault{
        false, fmt::format("{}, which expired on {} UTC", certificate_file, minute_text(dates.not_after)),
        "renew it with its certificate authority, for example with certbot renew; " + clock};
  return CertificateFault{
      false,
      fmt::format("{}, which is not valid before {} UTC", certificate_file, minute_text(dates.not_before)),
      "use the former one until then; if it should be valid, correct the clock: " + clock};
}

bool ServerCertificate::covers(const std::string& host) const {
  X509* own = chain.front().get();
  if (parse_ip_address(host)) return X509_check_ip_asc(own, host.c_str(), 0) == 1;
  return X509_check_host(own, host.data(), host.size(), 0, nullptr) == 1;
}

tl::expected<ServerCertificate, CertificateFault> read_server_certificate(
    const std::string& certificate_file) {
  const auto file = read_file(certificate_file);
  if (!file) return cannot_read(false, certificate_file, file.error());
  ServerCertificate read;
  const Bio bio = bio_of(file->text);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    read.chain.emplace_back(certificate, X509_free);
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (read.chain.empty() && has_private_key(file->text))
    return fault(false, certificate_file, "which has a private key and no certificate",
                 "name the certificate's file here, and this one as the key");
  if (read.chain.empty() && is_der(file->text))
    return fault(
        false, certificate_file, "which is binary (DER)",
        fmt::format("write it in PEM form: openssl x509 -inform der -in {} -out NEW_FILE", certificate_file));
  if (read.chain.empty())
    return fault(false, certificate_file,
                 "which has no X.509 certificate in PEM form (-----BEGIN CERTIFICATE-----)", kPemNext);
  if (!is_at_end) return fault(false, certificate_file, "in which a certificate is damaged", kPemNext);
  if (read.chain.size() > kMaxChain)
    return fault(false, certificate_file, fmt::format("which has more than {} certificates", kMaxChain),
                 kPemNext);
  const auto info = info_of(read.chain.front().get());
  if (!info) return fault(false, certificate_file, info.error(), kPemNext);
  read.dates = {info->not_before, info->not_after};
  return read;
}

tl::expected<ServerCertificate, CertificateFault> read_server_certificate(const std::string& certificate_file,
                                                                          const std::string& key_file) {
  auto read = read_server_certificate(certificate_file);
  if (!read) return read;
  const auto info = info_of(read->chain.front().get());
  const CertificateIssues issues = info ? validate_certificate(*info, info->not_before) : CertificateIssues();
  for (const CertificateIssues::Fault& one : issues.faults)
    if (one.cause == CertificateCause::weak_key)
      return fault(
          false, certificate_file, one.clause,
          "have a new pair made, with an RSA key of 2048 bits or more or an EC key on P-256 or P-384");
  auto key = read_key(key_file);
  if (!key) return tl::unexpected(std::move(key.error()));
  if (X509_check_private_key(read->chain.front().get(), key->get()) != 1) {
    ERR_clear_error();
    return fault(true, key_file, "which is not the key of the certificate in " + certificate_file,
                 "name the two files of one pair; in the certificate's file the server's own comes first");
  }
  read->key = std::move(*key);
  return read;
}

}  // namespace giftsync
