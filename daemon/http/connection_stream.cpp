#include "daemon/http/connection_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cstring>

namespace giftsync::daemon::http {
namespace {

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/// SIGCONT interrupts a read with a time-out even without a handler; that does not end the wait.
ssize_t receive_uninterrupted(int descriptor, char* buffer, std::size_t size, int flags) {
  ssize_t count = 0;
  do {
    count = ::recv(descriptor, buffer, size, flags);
  } while (count < 0 && errno == EINTR);
  return count;
}

timeval to_timeval(std::chrono::milliseconds timeout) {
  // Zero would mean "no time-out".
  const auto millis = std::max<std::int64_t>(timeout.count(), 1);
  return {static_cast<time_t>(millis / 1000), static_cast<suseconds_t>(millis % 1000 * 1000)};
}

iovec as_iovec(std::string_view text) {
  return {const_cast<char*>(text.data()), text.size()};
}

std::string_view remaining_after(std::string_view text, std::size_t& sent) {
  const std::size_t consumed = std::min(sent, text.size());
  sent -= consumed;
  return text.substr(consumed);
}

}  // namespace

ConnectionStream::ConnectionStream(int descriptor, std::chrono::milliseconds idle)
    : descriptor_(descriptor), idle_(idle), buffer_(new char[kBufferBytes]) {
  const timeval wait = to_timeval(idle_);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

void ConnectionStream::compact_buffer() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (end_ == kBufferBytes) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  assert(end_ < kBufferBytes);
}

ConnectionStream::Received ConnectionStream::receive_once(int flags) {
  compact_buffer();
  const ssize_t count = receive_uninterrupted(descriptor_, buffer_.get() + end_, kBufferBytes - end_, flags);
  if (count < 0 && would_block(errno)) return Received::deadline;
  if (count <= 0) return Received::end;
  end_ += static_cast<std::size_t>(count);
  return Received::bytes;
}

ConnectionStream::Received ConnectionStream::receive_first() {
  return receive_once(0);
}

ConnectionStream::Received ConnectionStream::receive(Clock::time_point deadline) {
  for (;;) {
    // Checked before the read: a peer that always has one more byte ready must not exceed its deadline.
    if (Clock::now() >= deadline) return Received::deadline;
    const Received received = receive_once(MSG_DONTWAIT);
    if (received != Received::deadline) return received;
    if (!wait_for(POLLIN, deadline)) return Received::deadline;
  }
}

bool ConnectionStream::wait_for(short events, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left <= 0) return false;
  pollfd poll_entry{descriptor_, events, 0};
  // An interrupted wait counts as ready: the caller tries again.
  return ::poll(&poll_entry, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX))) != 0;
}

bool ConnectionStream::send_now(PendingWrite& pending) {
  iovec parts[2] = {as_iovec(pending.head), as_iovec(pending.body)};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t count = ::sendmsg(descriptor_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) return would_block(errno);
  auto sent = static_cast<std::size_t>(count);
  pending.head = remaining_after(pending.head, sent);
  pending.body = remaining_after(pending.body, sent);
  return true;
}

bool ConnectionStream::send(PendingWrite& pending, Clock::time_point deadline) {
  while (!pending.empty()) {
    if (!send_now(pending)) return false;
    if (!pending.empty() && !wait_for(POLLOUT, deadline)) return false;
  }
  return true;
}

void ConnectionStream::linger(Clock::time_point deadline) {
  if (::shutdown(descriptor_, SHUT_WR) != 0) return;
  std::size_t discarded = 0;
  do {
    discarded += unread().size();
    consume(unread().size());
  } while (discarded < kLingerBytes && receive(deadline) == Received::bytes);
}

}  // namespace giftsync::daemon::http
