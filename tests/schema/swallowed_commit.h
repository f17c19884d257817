// A stretch of wire between a client and PostgreSQL that tests can break at the worst moment: the server has
// committed, and the client never hears of it.
#pragma once

#include <Poco/Net/PollSet.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/StreamSocket.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>

namespace giftsync::schema {

class SwallowedCommit {
 public:
  explicit SwallowedCommit(int server_port)
      : server_port_(static_cast<Poco::UInt16>(server_port)),
        door_(Poco::Net::SocketAddress("127.0.0.1", 0)),
        thread_([this] { serve(); }) {}
  ~SwallowedCommit() {
    ends_ = true;
    thread_.join();
  }
  SwallowedCommit(const SwallowedCommit&) = delete;
  SwallowedCommit& operator=(const SwallowedCommit&) = delete;

  int port() const { return door_.address().port(); }
  /// The answer to the next COMMIT is lost, with its connection.
  void swallow_next() { swallows_ = true; }

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

  /// False once the connection is over.
  bool pass_on(Poco::Net::StreamSocket& client, Poco::Net::StreamSocket& server) {
    Poco::Net::PollSet both;
    both.add(client, Poco::Net::PollSet::POLL_READ);
    both.add(server, Poco::Net::PollSet::POLL_READ);
    for (const auto& [socket, mode] : both.poll(Poco::Timespan(0, 20'000))) {
      const bool is_answer = socket == server;
      Poco::Net::StreamSocket from(socket);
      char bytes[16'384];
      const int count = from.receiveBytes(bytes, sizeof bytes);
      if (count <= 0) return false;
      if (is_answer && swallows_ &&
          std::string_view(bytes, static_cast<std::size_t>(count)).find(kCommitted) !=
              std::string_view::npos) {
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
  std::atomic<bool> ends_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace giftsync::schema
