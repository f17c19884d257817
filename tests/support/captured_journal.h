// The journal's side of the log while it exists: standard error is a socket that JOURNAL_STREAM names, and
// the journal's own socket is one of this test.
#pragma once

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "platform/digest.h"
#include "platform/logging.h"

namespace giftsync::tests {

/// One entry: a field may occur several times.
using JournalEntry = std::multimap<std::string, std::string>;

class CapturedJournal {
 public:
  explicit CapturedJournal(bool json = false, const std::string& level = "info")
      : path_(std::filesystem::temp_directory_path() / ("giftsync-journal." + random_hex(8))),
        previous_logger_(spdlog::default_logger()),
        previous_stderr_(::dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::runtime_error("no pair of sockets");
    ::dup2(ends[0], STDERR_FILENO);
    ::close(ends[0]);
    stream_ = ends[1];
    struct stat found {};
    ::fstat(STDERR_FILENO, &found);
    ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", found.st_dev, found.st_ino).c_str(), 1);
    open();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("before"));
    set_up_logging(level, json, path_);
  }
  ~CapturedJournal() {
    spdlog::set_default_logger(previous_logger_);
    ::unsetenv("JOURNAL_STREAM");
    ::dup2(previous_stderr_, STDERR_FILENO);
    ::close(previous_stderr_);
    ::close(stream_);
    close();
  }
  CapturedJournal(const CapturedJournal&) = delete;
  CapturedJournal& operator=(const CapturedJournal&) = delete;

  void open() {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot listen at " + path_);
  }
  /// `leaves_file`: as a journal that has died.
  void close(bool leaves_file = false) {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
    if (!leaves_file) std::filesystem::remove(path_);
  }

  /// What came since the last call.
  std::vector<JournalEntry> take_entries() {
    std::vector<JournalEntry> entries;
    for (std::string message; receive(message);) {
      JournalEntry& entry = entries.emplace_back();
      std::istringstream in(message);
      for (std::string line; std::getline(in, line);) {
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos) throw std::runtime_error("no field: " + line);
        entry.emplace(line.substr(0, equals), line.substr(equals + 1));
      }
    }
    return entries;
  }
  /// What standard error has got since the last call.
  std::string take_stderr() {
    std::string text;
    std::array<char, 65'536> part{};
    for (ssize_t count = 0; (count = ::recv(stream_, part.data(), part.size(), MSG_DONTWAIT)) > 0;)
      text.append(part.data(), static_cast<std::size_t>(count));
    return text;
  }

 private:
  bool receive(std::string& message) {
    message.resize(1 << 20);
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec part{message.data(), message.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(socket_, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return false;
    message.resize(static_cast<std::size_t>(count));
    if (const cmsghdr* const rights = CMSG_FIRSTHDR(&header)) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(rights), sizeof file);
      std::array<char, 65'536> bytes{};
      ::lseek(file, 0, SEEK_SET);
      for (ssize_t read = 0; (read = ::read(file, bytes.data(), bytes.size())) > 0;)
        message.append(bytes.data(), static_cast<std::size_t>(read));
      ::close(file);
    }
    return true;
  }

  const std::string path_;
  const std::shared_ptr<spdlog::logger> previous_logger_;
  const int previous_stderr_;
  int stream_ = -1;
  int socket_ = -1;
};

/// The values of a field, in the order of the entry: "3,14".
inline std::string values_of(const JournalEntry& entry, const std::string& field) {
  std::string values;
  const auto [begin, end] = entry.equal_range(field);
  for (auto one = begin; one != end; ++one) values += (values.empty() ? "" : ",") + one->second;
  return values;
}

}  // namespace giftsync::tests
