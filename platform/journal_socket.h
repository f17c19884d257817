// platform: hands lines with fields to systemd's journal by its native protocol
// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL). libsystemd's sd_journal_sendv() does not do here: it waits
// without end for a journal that reads nothing, and drops a line without an error when the journal's socket
// is missing (OPS-10).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace giftsync {

inline constexpr const char* kJournalSocket = "/run/systemd/journal/socket";

/// NAME=value, as a part of a message. `name`: capital letters, digits and underscores, at most 64. What is
/// invisible in `value`, a line end too, is escaped (SEC-1).
void append_journal_field(std::string& message, std::string_view name, std::string_view value);

/// One thread at a time.
class JournalSocket {
 public:
  /// For so long a message waits for a journal that is busy; after one that waited in vain further ones do
  /// not wait, until one is taken again.
  static constexpr std::int64_t kLongestWaitMillis = 100;

  explicit JournalSocket(std::string path);
  /// Waits up to kLongestWaitMillis until the journal has read what was sent: of a process that has ended it
  /// would not find out the unit any more.
  ~JournalSocket();
  JournalSocket(const JournalSocket&) = delete;
  JournalSocket& operator=(const JournalSocket&) = delete;

  /// One message of fields. False: the journal has not taken it. A large one goes as a sealed memory file.
  bool send(std::string_view message);

 private:
  bool has_open_socket();
  bool send_parts(std::string_view message, int attached_file);

  const std::string path_;
  int socket_ = -1;
  bool is_stuck_ = false;  ///< the last message waited in vain
};

}  // namespace giftsync
