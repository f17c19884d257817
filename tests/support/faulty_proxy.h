// A proxy between a client and PostgreSQL that tests can break at the worst moments: the server has committed
// and the client gets no response; a connection is open and its first command fails; nothing passes any more.
#pragma once

#include <Poco/Net/PollSet.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/StreamSocket.h>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace giftsync::tests {

class FaultyProxy {
 public:
  explicit FaultyProxy(int server_port)
      : server_port_(static_cast<Poco::UInt16>(server_port)),
        listener_(Poco::Net::SocketAddress("127.0.0.1", 0)),
        thread_([this] { serve(); }) {}
  ~FaultyProxy() {
    stopping_ = true;
    thread_.join();
  }
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;

  int port() const { return listener_.address().port(); }
  /// Loses the response to the next COMMIT and closes its connection.
  void drop_next_commit_reply() { drops_commit_reply_ = true; }
  /// From now on connections are accepted and break at their first command, which is recorded.
  void break_on_commands(bool is_breaking = true) { breaks_on_commands_ = is_breaking; }
  /// From now on nothing is forwarded, like a stopped server: connections stay open without a response.
  void stall(bool is_stalled = true) { is_stalled_ = is_stalled; }
  std::vector<std::string> unanswered() const {
    const std::lock_guard lock(mutex_);
    return unanswered_;
  }

 private:
  static constexpr std::string_view kCommitReply{"COMMIT\0", 7};  // as CommandComplete says it

  void serve() {
    while (!stopping_) {
      if (!listener_.poll(Poco::Timespan(0, 20'000), Poco::Net::Socket::SELECT_READ)) continue;
      Poco::Net::StreamSocket client = listener_.acceptConnection();
      Poco::Net::StreamSocket server(Poco::Net::SocketAddress("127.0.0.1", server_port_));
      while (!stopping_ && forward(client, server)) {
      }
    }
  }

  /// Waits a moment.
  static bool has_ended(Poco::Net::StreamSocket& client) {
    char byte = 0;
    const bool is_readable = client.poll(Poco::Timespan(0, 20'000), Poco::Net::Socket::SELECT_READ);
    return is_readable && client.receiveBytes(&byte, 1, MSG_PEEK) <= 0;
  }

  /// False once the connection is over.
  bool forward(Poco::Net::StreamSocket& client, Poco::Net::StreamSocket& server) {
    if (is_stalled_) return !has_ended(client);
    Poco::Net::PollSet both;
    both.add(client, Poco::Net::PollSet::POLL_READ);
    both.add(server, Poco::Net::PollSet::POLL_READ);
    for (const auto& [socket, mode] : both.poll(Poco::Timespan(0, 20'000))) {
      if (is_stalled_) return true;
      const bool is_answer = socket == server;
      Poco::Net::StreamSocket from(socket);
      char bytes[16'384];
      const int count = from.receiveBytes(bytes, sizeof bytes);
      if (count <= 0) return false;
      const std::string_view bytes_read(bytes, static_cast<std::size_t>(count));
      if (!is_answer && breaks_on_commands_ &&
          bytes_read.starts_with('Q')) {  // a Query: its length, then its text
        const std::lock_guard lock(mutex_);
        unanswered_.emplace_back(bytes_read.substr(5, bytes_read.size() - 6));
        return false;
      }
      if (is_answer && drops_commit_reply_ && bytes_read.find(kCommitReply) != std::string_view::npos) {
        drops_commit_reply_ = false;
        return false;
      }
      Poco::Net::StreamSocket& to = is_answer ? client : server;
      for (int sent = 0; sent < count;) sent += to.sendBytes(bytes + sent, count - sent);
    }
    return true;
  }

  const Poco::UInt16 server_port_;
  Poco::Net::ServerSocket listener_;
  std::atomic<bool> drops_commit_reply_{false};
  std::atomic<bool> breaks_on_commands_{false};
  std::atomic<bool> is_stalled_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> unanswered_;  // guarded by mutex_
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace giftsync::tests
