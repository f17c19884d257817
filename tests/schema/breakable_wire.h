// A stretch of wire between a client and PostgreSQL that tests can break at the worst moments: the server has
// committed, and the client never hears of it; a connection stands, and its first command is not answered;
// nothing comes through any more.
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

namespace giftsync::schema {

class BreakableWire {
 public:
  explicit BreakableWire(int server_port)
      : server_port_(static_cast<Poco::UInt16>(server_port)),
        door_(Poco::Net::SocketAddress("127.0.0.1", 0)),
        thread_([this] { serve(); }) {}
  ~BreakableWire() {
    ends_ = true;
    thread_.join();
  }
  BreakableWire(const BreakableWire&) = delete;
  BreakableWire& operator=(const BreakableWire&) = delete;

  int port() const { return door_.address().port(); }
  /// The answer to the next COMMIT is lost, with its connection.
  void swallow_next() { swallows_ = true; }
  /// From now on connections can be made, and break at their first command: what it was is kept.
  void break_at_commands(bool breaks = true) { breaks_at_commands_ = breaks; }
  /// From now on nothing is passed on, as of a server that is stopped: connections stay, and get no answer.
  void stall(bool stalls = true) { stalls_ = stalls; }
  std::vector<std::string> unanswered() const {
    const std::lock_guard lock(mutex_);
    return unanswered_;
  }

 private:
  static constexpr std::string_view kCommitted{"COMMIT\0", 7};  // as CommandComplete says it

  void serve() {
    while (!ends_) {
      if (!door_.poll(Poco::Timespan(0, 20'000), Poco::Net::Socket::SELECT_READ)) continue;
      Poco::Net::StreamSocket client = door_.acceptConnection();
      Poco::Net::StreamSocket server(Poco::Net::SocketAddress("127.0.0.1", server_port_));
      while (!ends_ && pass_on(client, server)) {
      }
    }
  }

  /// Waits a moment.
  static bool has_ended(Poco::Net::StreamSocket& client) {
    char byte = 0;
    const bool has_said = client.poll(Poco::Timespan(0, 20'000), Poco::Net::Socket::SELECT_READ);
    return has_said && client.receiveBytes(&byte, 1, MSG_PEEK) <= 0;
  }

  /// False once the connection is over.
  bool pass_on(Poco::Net::StreamSocket& client, Poco::Net::StreamSocket& server) {
    if (stalls_) return !has_ended(client);
    Poco::Net::PollSet both;
    both.add(client, Poco::Net::PollSet::POLL_READ);
    both.add(server, Poco::Net::PollSet::POLL_READ);
    for (const auto& [socket, mode] : both.poll(Poco::Timespan(0, 20'000))) {
      if (stalls_) return true;
      const bool is_answer = socket == server;
      Poco::Net::StreamSocket from(socket);
      char bytes[16'384];
      const int count = from.receiveBytes(bytes, sizeof bytes);
      if (count <= 0) return false;
      const std::string_view said(bytes, static_cast<std::size_t>(count));
      if (!is_answer && breaks_at_commands_ && said.starts_with('Q')) {  // a Query: its length, then its text
        const std::lock_guard lock(mutex_);
        unanswered_.emplace_back(said.substr(5, said.size() - 6));
        return false;
      }
      if (is_answer && swallows_ && said.find(kCommitted) != std::string_view::npos) {
        swallows_ = false;
        return false;
      }
      Poco::Net::StreamSocket& to = is_answer ? client : server;
      for (int sent = 0; sent < count;) sent += to.sendBytes(bytes + sent, count - sent);
    }
    return true;
  }

  const Poco::UInt16 server_port_;
  Poco::Net::ServerSocket door_;
  std::atomic<bool> swallows_{false};
  std::atomic<bool> breaks_at_commands_{false};
  std::atomic<bool> stalls_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> unanswered_;  // guarded by mutex_
  std::atomic<bool> ends_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace giftsync::schema
