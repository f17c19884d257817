#include "tests/daemon/http_wire.h"

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

WireAnswer parse_head(std::string_view head) {
  WireAnswer answer;
  std::size_t end = head.find("\r\n");
  answer.status = std::stoi(std::string(head.substr(9, 3)));
  while (end + 2 < head.size()) {
    const std::size_t begin = end + 2;
    end = head.find("\r\n", begin);
    const std::string_view line = head.substr(begin, end - begin);
    const std::size_t colon = line.find(": ");
    answer.headers.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return answer;
}

}  // namespace

std::string WireAnswer::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Wire::Wire(const std::string& address) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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

Wire::Wire(Wire&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}

Wire::~Wire() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Wire::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Wire::end() {
  ::shutdown(descriptor_, SHUT_WR);
}

bool Wire::receive(std::chrono::milliseconds patience) {
  pollfd waited{descriptor_, POLLIN, 0};
  if (::poll(&waited, 1, static_cast<int>(patience.count())) <= 0) return false;
  char buffer[65536];
  const ssize_t count = ::recv(descriptor_, buffer, sizeof buffer, 0);
  if (count <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

bool Wire::fill_until(std::string_view mark) {
  while (received_.find(mark) == std::string::npos) {
    if (!receive(kPatience)) return false;
  }
  return true;
}

std::optional<WireAnswer> Wire::read_answer(bool to_head) {
  if (!fill_until(kEmptyLine)) return std::nullopt;
  const std::size_t end = received_.find(kEmptyLine) + kEmptyLine.size();
  WireAnswer answer = parse_head(std::string_view(received_).substr(0, end - 2));
  received_.erase(0, end);
  const std::string length = answer.header("Content-Length");
  const std::size_t wanted = to_head || length.empty() ? 0 : std::stoul(length);
  while (received_.size() < wanted) {
    if (!receive(kPatience)) return std::nullopt;
  }
  answer.body = received_.substr(0, wanted);
  received_.erase(0, wanted);
  return answer;
}

bool Wire::is_closed() {
  if (!received_.empty()) return false;
  pollfd waited{descriptor_, POLLIN, 0};
  if (::poll(&waited, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0) return false;
  char byte = 0;
  return ::recv(descriptor_, &byte, 1, 0) <= 0;
}

bool Wire::is_silent_for(std::chrono::milliseconds span) {
  pollfd waited{descriptor_, POLLIN, 0};
  return received_.empty() && ::poll(&waited, 1, static_cast<int>(span.count())) == 0;
}

}  // namespace giftsync::tests
