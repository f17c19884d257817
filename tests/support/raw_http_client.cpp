#include "tests/support/raw_http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "platform/clock.h"
#include "tests/support/test_certificate.h"

namespace giftsync::tests {
namespace {

constexpr std::string_view kEmptyLine = "\r\n\r\n";

RawResponse parse_head(std::string_view head) {
  RawResponse response;
  std::size_t end = head.find("\r\n");
  response.status = std::stoi(std::string(head.substr(9, 3)));
  while (end + 2 < head.size()) {
    const std::size_t begin = end + 2;
    end = head.find("\r\n", begin);
    const std::string_view line = head.substr(begin, end - begin);
    const std::size_t colon = line.find(": ");
    response.headers.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return response;
}

SSL_CTX* client_context() {
  static const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                         SSL_CTX_free);
  return context.get();
}

/// What OpenSSL waits for.
short events_for(int error) {
  return error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
}

}  // namespace

std::shared_ptr<http::TlsContext> tls_of_tests() {
  static const std::shared_ptr<http::TlsContext> context = [] {
    if (std::getenv("GIFTSYNC_TEST_TLS") == nullptr) return std::shared_ptr<http::TlsContext>();
    const CertificateFolder folder;
    folder.write("server", make_pair_of({.rsa_bits = 0}));
    auto made = http::TlsContext::make({folder.path("server.pem"), folder.path("server.key")}, system_now());
    if (!made) throw std::runtime_error(made.error().text);
    return std::move(*made);
  }();
  return context;
}

std::string RawResponse::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

RawHttpClient::RawHttpClient(const std::string& address, bool over_tls)
    : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
    ::close(descriptor_);
    throw std::runtime_error("no connection to " + address);
  }
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (over_tls) begin_tls();
}

void RawHttpClient::begin_tls() {
  ::fcntl(descriptor_, F_SETFL, O_NONBLOCK);
  tls_.reset(SSL_new(client_context()), SSL_free);
  SSL_set_fd(tls_.get(), descriptor_);
  for (;;) {
    ERR_clear_error();  // of other connections: SSL_get_error() looks there
    const int result = SSL_connect(tls_.get());
    if (result == 1) return;
    const int error = SSL_get_error(tls_.get(), result);
    pollfd poll_entry{descriptor_, events_for(error), 0};
    const bool waits = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (waits && ::poll(&poll_entry, 1, static_cast<int>(std::chrono::milliseconds(kTimeout).count())) > 0)
      continue;
    // As a server that closes at once: later calls fail.
    ::shutdown(descriptor_, SHUT_RDWR);
    return;
  }
}

RawHttpClient::RawHttpClient(RawHttpClient&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      tls_(std::move(other.tls_)),
      received_(std::move(other.received_)) {}

RawHttpClient::~RawHttpClient() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool RawHttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = 0;
    if (tls_) {
      ERR_clear_error();
      sent = SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
      const int error = sent > 0 ? SSL_ERROR_NONE : SSL_get_error(tls_.get(), static_cast<int>(sent));
      if (error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ) {
        pollfd poll_entry{descriptor_, events_for(error), 0};
        ::poll(&poll_entry, 1, static_cast<int>(std::chrono::milliseconds(kTimeout).count()));
        continue;
      }
      if (error != SSL_ERROR_NONE) return false;
    } else {
      sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawHttpClient::end() {
  if (tls_) SSL_shutdown(tls_.get());
  ::shutdown(descriptor_, SHUT_WR);
}

RawHttpClient::Received RawHttpClient::try_receive(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  char buffer[65536];
  for (;;) {
    if (tls_) {
      ERR_clear_error();
      const int count = SSL_read(tls_.get(), buffer, sizeof buffer);
      if (count > 0) {
        received_.append(buffer, static_cast<std::size_t>(count));
        return Received::bytes;
      }
      if (SSL_get_error(tls_.get(), count) != SSL_ERROR_WANT_READ) return Received::end;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd poll_entry{descriptor_, POLLIN, 0};
    if (::poll(&poll_entry, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0)
      return Received::nothing;
    if (tls_) continue;  // perhaps only a ticket
    const ssize_t count = ::recv(descriptor_, buffer, sizeof buffer, 0);
    if (count <= 0) return Received::end;
    received_.append(buffer, static_cast<std::size_t>(count));
    return Received::bytes;
  }
}

bool RawHttpClient::receive_until(std::string_view delimiter) {
  while (received_.find(delimiter) == std::string::npos) {
    if (!receive(kTimeout)) return false;
  }
  return true;
}

std::optional<RawResponse> RawHttpClient::read_response(bool to_head) {
  if (!receive_until(kEmptyLine)) return std::nullopt;
  const std::size_t end = received_.find(kEmptyLine) + kEmptyLine.size();
  RawResponse response = parse_head(std::string_view(received_).substr(0, end - 2));
  received_.erase(0, end);
  const std::string length = response.header("Content-Length");
  const std::size_t wanted = to_head || length.empty() ? 0 : std::stoul(length);
  while (received_.size() < wanted) {
    if (!receive(kTimeout)) return std::nullopt;
  }
  response.body = received_.substr(0, wanted);
  received_.erase(0, wanted);
  return response;
}

std::string RawHttpClient::read_some() {
  if (received_.empty()) receive(kTimeout);
  return std::exchange(received_, {});
}

bool RawHttpClient::is_closed() {
  return received_.empty() && try_receive(kTimeout) == Received::end;
}

bool RawHttpClient::is_silent_for(std::chrono::milliseconds duration) {
  return received_.empty() && try_receive(duration) == Received::nothing;
}

}  // namespace giftsync::tests
