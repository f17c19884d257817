#include "daemon/http/connection_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cstring>

namespace giftsync::daemon {
namespace {

bool is_would_wait(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/// A read of a socket with a time-out is interrupted by SIGCONT even without a handler: that is no end of
/// waiting.
ssize_t receive_uninterrupted(int descriptor, char* buffer, std::size_t size, int flags) {
  ssize_t count = 0;
  do {
    count = ::recv(descriptor, buffer, size, flags);
  } while (count < 0 && errno == EINTR);
  return count;
}

timeval as_timeval(std::chrono::milliseconds span) {
  // Zero would mean "for ever".
  const auto millis = std::max<std::int64_t>(span.count(), 1);
  return {static_cast<time_t>(millis / 1000), static_cast<suseconds_t>(millis % 1000 * 1000)};
}

iovec piece(std::string_view text) {
  return {const_cast<char*>(text.data()), text.size()};
}

std::string_view after(std::string_view text, std::size_t& sent) {
  const std::size_t taken = std::min(sent, text.size());
  sent -= taken;
  return text.substr(taken);
}

}  // namespace

ConnectionStream::ConnectionStream(int descriptor, std::chrono::milliseconds idle)
    : descriptor_(descriptor), idle_(idle), buffer_(new char[kBufferBytes]) {
  const timeval wait = as_timeval(idle_);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

void ConnectionStream::make_room() {
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
  make_room();
  const ssize_t count = receive_uninterrupted(descriptor_, buffer_.get() + end_, kBufferBytes - end_, flags);
  if (count < 0 && is_would_wait(errno)) return Received::deadline;
  if (count <= 0) return Received::end;
  end_ += static_cast<std::size_t>(count);
  return Received::bytes;
}

ConnectionStream::Received ConnectionStream::receive_first() {
  return receive_once(0);
}

ConnectionStream::Received ConnectionStream::receive(Clock::time_point deadline) {
  for (;;) {
    // Asked before the read: a peer that always has one more byte ready must not outlive its deadline.
    if (Clock::now() >= deadline) return Received::deadline;
    const Received received = receive_once(MSG_DONTWAIT);
    if (received != Received::deadline) return received;
    if (!wait_for(POLLIN, deadline)) return Received::deadline;
  }
}

bool ConnectionStream::wait_for(short events, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left <= 0) return false;
  pollfd waited{descriptor_, events, 0};
  // An interrupted wait counts as ready: the caller tries again and finds out.
  return ::poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX))) != 0;
}

bool ConnectionStream::send_now(Outgoing& outgoing) {
  iovec pieces[2] = {piece(outgoing.head), piece(outgoing.body)};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  const ssize_t count = ::sendmsg(descriptor_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) return is_would_wait(errno);
  auto sent = static_cast<std::size_t>(count);
  outgoing.head = after(outgoing.head, sent);
  outgoing.body = after(outgoing.body, sent);
  return true;
}

bool ConnectionStream::send(Outgoing& outgoing, Clock::time_point deadline) {
  while (!outgoing.empty()) {
    if (!send_now(outgoing)) return false;
    if (!outgoing.empty() && !wait_for(POLLOUT, deadline)) return false;
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

}  // namespace giftsync::daemon
