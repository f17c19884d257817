// daemon/http: reads and writes one connected socket. Each wait has an absolute deadline, so a peer that
// sends one byte a second gains nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace giftsync::daemon::http {

/// The unsent rest of a response. Refers to the caller's text.
struct PendingWrite {
  std::string_view head;
  std::string_view body;

  bool empty() const { return head.empty() && body.empty(); }
};

/// Belongs to one thread. Does not own the descriptor. Another thread may shutdown(2) the socket at any time;
/// then reads end and writes fail.
class ConnectionStream {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kBufferBytes = 16 * 1024;

  enum class Received { bytes, end, deadline };

  /// `idle`: the longest wait of receive_first().
  ConnectionStream(int descriptor, std::chrono::milliseconds idle);

  /// Received and not yet consumed bytes. Valid until the next receive.
  std::string_view unread() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes) { begin_ += bytes; }

  /// Waits for the first bytes of a request, at most the idle time, in one system call.
  Received receive_first();
  /// Appends received bytes to unread() and waits until `deadline`. unread() must be shorter than
  /// kBufferBytes.
  Received receive(Clock::time_point deadline);

  /// Sends what the socket takes without waiting and removes it from `pending`. False: the connection is
  /// broken.
  bool send_now(PendingWrite& pending);
  /// Sends everything. False: the connection is broken, or the peer did not take everything before
  /// `deadline`.
  bool send(PendingWrite& pending, Clock::time_point deadline);

  /// Closes the sending side, then discards incoming bytes until `deadline`, at most kLingerBytes. A close
  /// with unread bytes makes the kernel reset the connection, and the peer would lose the response just sent.
  void linger(Clock::time_point deadline);

 private:
  static constexpr std::size_t kLingerBytes = 64 * 1024 * 1024;

  /// One read. Received::deadline: no bytes arrived in time.
  Received receive_once(int flags);
  bool wait_for(short events, Clock::time_point deadline);
  void compact_buffer();

  const int descriptor_;
  const std::chrono::milliseconds idle_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace giftsync::daemon::http
