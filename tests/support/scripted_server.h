// An HTTP server on loopback that counts connections and requests and answers bytes that a test has chosen:
// for what no correct server does, such as closing a kept connection instead of answering.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace giftsync::tests {

class ScriptedServer {
 public:
  /// `respond`: the bytes for the request (its head and body as sent), the first one is number 0. An empty
  /// text closes the connection.
  using Respond = std::function<std::string(std::size_t number, const std::string& request)>;

  explicit ScriptedServer(Respond respond) : respond_(std::move(respond)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no listener");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_connections(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    for (std::thread& thread : connection_threads_) thread.join();
    for (const int connection : connections_) ::close(connection);
    ::close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::size_t connection_count() {
    const std::lock_guard lock(mutex_);
    return connections_.size();
  }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void accept_connections() {
    for (int connection; (connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const std::lock_guard lock(mutex_);
      connections_.push_back(connection);
      connection_threads_.emplace_back([this, connection] { serve(connection); });
    }
  }
  void serve(int connection) {
    std::string received;
    std::array<char, 65'536> buffer{};
    while (true) {
      const std::size_t length = request_length(received);
      if (length == 0) {
        const ssize_t count = ::recv(connection, buffer.data(), buffer.size(), 0);
        if (count <= 0) return;
        received.append(buffer.data(), static_cast<std::size_t>(count));
        continue;
      }
      const std::string response = response_to(received.substr(0, length));
      received.erase(0, length);
      if (response.empty()) ::shutdown(connection, SHUT_RDWR);
      if (::send(connection, response.data(), response.size(), MSG_NOSIGNAL) <= 0) return;
    }
  }
  std::string response_to(const std::string& request) {
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = requests_.size();
      requests_.push_back(request);
    }
    return respond_(number, request);
  }
  /// Of the first request in `bytes`; 0 while it is incomplete.
  static std::size_t request_length(const std::string& bytes) {
    const std::size_t head = bytes.find("\r\n\r\n");
    if (head == std::string::npos) return 0;
    const std::string name = "Content-Length: ";
    const std::size_t length = bytes.find(name);
    const std::size_t body = length < head ? std::stoul(bytes.substr(length + name.size())) : 0;
    return bytes.size() >= head + 4 + body ? head + 4 + body : 0;
  }

  const Respond respond_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
  std::mutex mutex_;  // guards the following
  std::vector<int> connections_;
  std::vector<std::thread> connection_threads_;
  std::vector<std::string> requests_;
};

}  // namespace giftsync::tests
