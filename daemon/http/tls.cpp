#include "daemon/http/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace giftsync::http {
namespace {

constexpr std::int64_t kTicketKeyMillis = kDayMillis;
constexpr const char* kCiphersOf12 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* kCiphersOf13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";

constexpr unsigned char kAlpn[] = "\x08http/1.1";

/// A client that names protocols and HTTP/1.1 is not among them would not understand the responses.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* name = nullptr;
  if (SSL_select_next_proto(&name, chosen_size, kAlpn, sizeof kAlpn - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = name;
  return SSL_TLSEXT_ERR_OK;
}

std::string last_openssl_error() {
  const unsigned long error = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

}  // namespace

// What OpenSSL reads from and writes to: its own kind of socket would wait on a blocking descriptor, and
// raise SIGPIPE.
struct TlsSession::Socket {
  SSL* ssl = nullptr;
  int descriptor = -1;
  bool is_drained = false;  ///< the last read found no byte in the socket
  bool is_at_end = false;

  ~Socket() { SSL_free(ssl); }

  static Socket& of(BIO* bio) { return *static_cast<Socket*>(BIO_get_data(bio)); }
  static int read(BIO* bio, char* buffer, int size);
  static int write(BIO* bio, const char* bytes, int size);
  static long control(BIO* bio, int command, long, void*);
  static const BIO_METHOD* method();
};

int TlsSession::Socket::read(BIO* bio, char* buffer, int size) {
  Socket& socket = of(bio);
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::recv(socket.descriptor, buffer, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (count == 0) socket.is_at_end = true;
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    socket.is_drained = true;
    BIO_set_retry_read(bio);
  }
  return static_cast<int>(count);
}

int TlsSession::Socket::write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count =
      ::send(of(bio).descriptor, bytes, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

long TlsSession::Socket::control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  return command == BIO_CTRL_EOF && of(bio).is_at_end ? 1 : 0;
}

/// Lives as long as the program.
const BIO_METHOD* TlsSession::Socket::method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "giftsync socket");
    if (made == nullptr) throw std::bad_alloc();
    BIO_meth_set_read(made, read);
    BIO_meth_set_write(made, write);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return kMethod;
}

TlsSession::TlsSession(const std::shared_ptr<SSL_CTX>& context, int descriptor)
    : socket_(std::make_unique<Socket>()) {
  socket_->descriptor = descriptor;
  socket_->ssl = SSL_new(context.get());
  BIO* bio = socket_->ssl == nullptr ? nullptr : BIO_new(Socket::method());
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, socket_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(socket_->ssl, bio, bio);
  SSL_set_accept_state(socket_->ssl);
}

TlsSession::~TlsSession() = default;

TlsOutcome TlsSession::outcome_of(int result) {
  switch (SSL_get_error(socket_->ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return TlsOutcome::wants_read;
    case SSL_ERROR_WANT_WRITE:
      return TlsOutcome::wants_write;
    case SSL_ERROR_ZERO_RETURN:
      return TlsOutcome::ended;
    case SSL_ERROR_SSL:
      fault_ = last_openssl_error();
      break;
    default:
      fault_ = "the connection ended";
  }
  ERR_clear_error();
  return TlsOutcome::broken;
}

TlsOutcome TlsSession::shake_hands() {
  ERR_clear_error();
  has_begun_ = true;
  socket_->is_drained = false;
  const int result = SSL_do_handshake(socket_->ssl);
  return result == 1 ? TlsOutcome::done : outcome_of(result);
}

TlsTransfer TlsSession::read(char* buffer, std::size_t size) {
  ERR_clear_error();
  socket_->is_drained = false;
  std::size_t count = 0;
  const int result = SSL_read_ex(socket_->ssl, buffer, size, &count);
  if (result == 1) {
    stopped_early_ = false;
    return {TlsOutcome::done, count};
  }
  const TlsOutcome outcome = outcome_of(result);
  stopped_early_ = outcome == TlsOutcome::wants_read && !socket_->is_drained;
  return {outcome, 0};
}

TlsTransfer TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t count = 0;
  const int result = SSL_write_ex(socket_->ssl, bytes.data(), bytes.size(), &count);
  if (result == 1) return {TlsOutcome::done, count};
  return {outcome_of(result), 0};
}

bool TlsSession::is_1_3() const {
  return SSL_version(socket_->ssl) == TLS1_3_VERSION;
}

bool TlsSession::has_unread() const {
  return stopped_early_ || (!socket_->is_drained && SSL_has_pending(socket_->ssl) == 1);
}

void TlsSession::keep_buffers() {
  SSL_clear_mode(socket_->ssl, SSL_MODE_RELEASE_BUFFERS);
}

void TlsSession::end() {
  ERR_clear_error();
  if (SSL_is_init_finished(socket_->ssl) == 1) SSL_shutdown(socket_->ssl);
  ERR_clear_error();
}

tl::expected<std::shared_ptr<SSL_CTX>, std::string> TlsContext::build(
    const ServerCertificate& certificate) const {
  ERR_clear_error();
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const auto refused = [] {
    std::string reason = last_openssl_error();
    ERR_clear_error();
    return tl::unexpected(std::move(reason));
  };
  if (!context) return refused();
  SSL_CTX_set_min_proto_version(context.get(), options_.requires_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                         SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Without SSL_MODE_AUTO_RETRY a call handles one record at most: a client that only renews its keys holds
  // up no other one.
  SSL_CTX_clear_mode(context.get(), SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context.get(), 1);                           // a record takes one call of the kernel
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);  // tickets need no memory here
  SSL_CTX_set_num_tickets(context.get(), 1);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  if (SSL_CTX_set_cipher_list(context.get(), kCiphersOf12) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), kCiphersOf13) != 1 ||
      SSL_CTX_set1_groups_list(context.get(), kGroups) != 1 ||
      SSL_CTX_use_certificate(context.get(), certificate.chain.front().get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), certificate.key.get()) != 1)
    return refused();
  for (std::size_t i = 1; i < certificate.chain.size(); ++i)
    if (SSL_CTX_add1_chain_cert(context.get(), certificate.chain[i].get()) != 1) return refused();
  return context;
}

tl::expected<void, TlsContext::Fault> TlsContext::load(UtcMillis now) {
  loaded_facts_ = facts_of_files();
  changed_facts_ = loaded_facts_;
  refused_dates_.reset();
  const auto refused = [](const CertificateFault& fault) {
    return tl::unexpected(Fault{fault.is_of_key, fault.found + "; " + fault.next_step});
  };
  auto certificate = read_server_certificate(options_.certificate, options_.key);
  if (!certificate) return refused(certificate.error());
  // Before the first one there are no dates.
  if (const auto fault = date_fault(options_.certificate, certificate->dates, now);
      fault && dates().are_valid_at(now)) {
    refused_dates_ = certificate->dates;
    return refused(*fault);
  }
  auto context = build(*certificate);
  if (!context)
    return tl::unexpected(
        Fault{false, options_.certificate + ", which OpenSSL refuses (" + context.error() +
                         "); have a certificate made with an RSA key of 2048 bits or more, or an "
                         "EC key on P-256, signed with SHA-256"});
  made_at_ = now;
  const std::lock_guard lock(mutex_);
  context_ = std::move(*context);
  certificate_ = std::move(*certificate);
  return {};
}

tl::expected<std::shared_ptr<TlsContext>, TlsContext::Fault> TlsContext::make(const Options& options,
                                                                              UtcMillis now) {
  std::shared_ptr<TlsContext> made(new TlsContext(options));
  if (auto loaded = made->load(now); !loaded) return tl::unexpected(std::move(loaded.error()));
  return made;
}

std::unique_ptr<TlsSession> TlsContext::accept(int descriptor) const {
  std::shared_ptr<SSL_CTX> context;
  {
    const std::lock_guard lock(mutex_);
    context = context_;
  }
  return std::make_unique<TlsSession>(context, descriptor);
}

TlsContext::RenewalResult TlsContext::renew(UtcMillis now) {
  std::string facts = facts_of_files();
  const bool has_become_valid = refused_dates_ && refused_dates_->are_valid_at(now);
  if (facts != loaded_facts_ || has_become_valid) {
    // The second file may still be on its way.
    if (facts != changed_facts_) {
      changed_facts_ = std::move(facts);
      return {};
    }
    if (auto loaded = load(now); !loaded) return {Renewal::refused, std::move(loaded.error().text)};
    return {Renewal::renewed};
  }
  changed_facts_ = std::move(facts);
  if (!has_elapsed(made_at_, kTicketKeyMillis, now)) return {};
  made_at_ = now;
  ServerCertificate certificate;
  {
    const std::lock_guard lock(mutex_);
    certificate = certificate_;
  }
  if (auto context = build(certificate)) {
    const std::lock_guard lock(mutex_);
    context_ = std::move(*context);
  }
  return {};
}

CertificateDates TlsContext::dates() const {
  const std::lock_guard lock(mutex_);
  return certificate_.dates;
}

bool TlsContext::covers(const std::string& host) const {
  const std::lock_guard lock(mutex_);
  return certificate_.covers(host);
}

std::string TlsContext::facts_of_files() const {
  std::string facts;
  for (const std::string& path : {options_.certificate, options_.key}) {
    struct stat one {};
    if (::stat(path.c_str(), &one) != 0) {
      facts += std::generic_category().message(errno) + ";";
      continue;
    }
    facts += fmt::format("{} {} {} {}.{} {}.{} {};", one.st_dev, one.st_ino, one.st_size, one.st_mtim.tv_sec,
                         one.st_mtim.tv_nsec, one.st_ctim.tv_sec, one.st_ctim.tv_nsec, one.st_mode);
  }
  return facts;
}

}  // namespace giftsync::http
