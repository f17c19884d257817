// daemon/http: bytes in and out of one connected socket, each wait under an absolute deadline: a peer that
// drips one byte a second gains nothing by it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace giftsync::daemon {

/// What is still to be sent of an answer. Refers to the caller's text.
struct Outgoing {
  std::string_view head;
  std::string_view body;

  bool empty() const { return head.empty() && body.empty(); }
};

/// Belongs to one thread. Does not own the descriptor. Another thread may shutdown(2) the socket at any time;
/// reads then end and writes fail.
class ConnectionStream {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kBufferBytes = 16 * 1024;

  enum class Received { bytes, end, deadline };

  /// `idle`: how long receive_first() waits.
  ConnectionStream(int descriptor, std::chrono::milliseconds idle);

  /// Received and not yet consumed. Valid until the next receive.
  std::string_view unread() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes) { begin_ += bytes; }

  /// Waits for the first bytes of a request, for at most the idle time: one system call.
  Received receive_first();
  /// Adds what has come in behind unread(), waiting until `deadline`. unread() must be shorter than
  /// kBufferBytes.
  Received receive(Clock::time_point deadline);

  /// Sends what the socket takes without waiting and shortens `outgoing` by it. False: the connection is
  /// broken.
  bool send_now(Outgoing& outgoing);
  /// Sends all. False: the connection is broken, or the peer did not take everything until `deadline`.
  bool send(Outgoing& outgoing, Clock::time_point deadline);

  /// Says that no more will be sent, and discards what still comes, at most until `deadline` and
  /// kLingerBytes: a close with unread bytes makes the kernel reset the connection, and the peer would lose
  /// the answer just sent.
  void linger(Clock::time_point deadline);

 private:
  static constexpr std::size_t kLingerBytes = 64 * 1024 * 1024;

  /// One read; Received::deadline: it would have had to wait (longer).
  Received receive_once(int flags);
  bool wait_for(short events, Clock::time_point deadline);
  void make_room();

  const int descriptor_;
  const std::chrono::milliseconds idle_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace giftsync::daemon
