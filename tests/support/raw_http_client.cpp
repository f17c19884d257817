#include "tests/support/raw_http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

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

}  // namespace

std::string RawResponse::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

RawHttpClient::RawHttpClient(const std::string& address)
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
}

RawHttpClient::RawHttpClient(RawHttpClient&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}

RawHttpClient::~RawHttpClient() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool RawHttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawHttpClient::end() {
  ::shutdown(descriptor_, SHUT_WR);
}

bool RawHttpClient::receive(std::chrono::milliseconds timeout) {
  pollfd poll_entry{descriptor_, POLLIN, 0};
  if (::poll(&poll_entry, 1, static_cast<int>(timeout.count())) <= 0) return false;
  char buffer[65536];
  const ssize_t count = ::recv(descriptor_, buffer, sizeof buffer, 0);
  if (count <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(count));
  return true;
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
  if (!received_.empty()) return false;
  pollfd poll_entry{descriptor_, POLLIN, 0};
  if (::poll(&poll_entry, 1, static_cast<int>(std::chrono::milliseconds(kTimeout).count())) <= 0)
    return false;
  char byte = 0;
  return ::recv(descriptor_, &byte, 1, 0) <= 0;
}

bool RawHttpClient::is_silent_for(std::chrono::milliseconds duration) {
  pollfd poll_entry{descriptor_, POLLIN, 0};
  return received_.empty() && ::poll(&poll_entry, 1, static_cast<int>(duration.count())) == 0;
}

}  // namespace giftsync::tests
