#include "platform/journal_socket.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/visible_text.h"

namespace giftsync {
namespace {

/// A sealed file in memory with these bytes; -1 if there is no memory for it. The journal reads no other.
int sealed_file(std::string_view bytes) {
  const int file = ::memfd_create("giftsync-log-line", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (bytes.empty() &&
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
    return file;
  ::close(file);
  return -1;
}

}  // namespace

void append_journal_field(std::string& message, std::string_view name, std::string_view value) {
  message.append(name).append("=").append(visible_text(value)).append("\n");
}

JournalSocket::JournalSocket(std::string path) : path_(std::move(path)) {}

JournalSocket::~JournalSocket() {
  if (socket_ < 0) return;
  int unread = 0;
  for (std::int64_t waited = 0;
       waited < kLongestWaitMillis && ::ioctl(socket_, SIOCOUTQ, &unread) == 0 && unread > 0; ++waited) {
    const timespec millisecond{0, 1'000'000};
    ::nanosleep(&millisecond, nullptr);
  }
  ::close(socket_);
}

/// It names its peer with each message: the journal's socket may be another one after a restart.
bool JournalSocket::has_open_socket() {
  if (socket_ >= 0) return true;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return false;
  const timeval wait{kLongestWaitMillis / 1000, kLongestWaitMillis % 1000 * 1000};
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  return true;
}

/// `attached_file`: -1 for none.
bool JournalSocket::send_parts(std::string_view message, int attached_file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy_n(path_.begin(), std::min(path_.size(), sizeof address.sun_path - 1), address.sun_path);
  iovec part{const_cast<char*>(message.data()), message.size()};
  msghdr header{};
  header.msg_name = &address;
  header.msg_namelen = sizeof address;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (attached_file >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &attached_file, sizeof attached_file);
  } else {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
  }
  const int flags = MSG_NOSIGNAL | (is_stuck_ ? MSG_DONTWAIT : 0);
  ssize_t sent = 0;
  do sent = ::sendmsg(socket_, &header, flags);
  while (sent < 0 && errno == EINTR);
  if (sent >= 0) {
    is_stuck_ = false;
    return true;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) is_stuck_ = true;
  return false;
}

bool JournalSocket::send(std::string_view message) {
  if (!has_open_socket()) return false;
  if (send_parts(message, -1)) return true;
  if (errno != EMSGSIZE && errno != ENOBUFS) return false;
  const int file = sealed_file(message);
  if (file < 0) return false;
  const bool is_sent = send_parts({}, file);
  ::close(file);
  return is_sent;
}

}  // namespace giftsync
