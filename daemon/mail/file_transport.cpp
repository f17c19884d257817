// Mails as files: `.<message id>.tmp` is written and synced, then renamed to `<message id>.eml`, and the
// folder is synced. The rename is the moment of sending; it can be repeated, because a mail's bytes depend on
// its facts alone. An empty `.<message id>.here` beside it says that this folder is where to look, until the
// outcome is known: a mail that was on its way in another folder (a changed setting, another machine) is not
// taken for one that a collector has fetched.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "daemon/mail/transport.h"

namespace giftsync::daemon {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFileMode = 0640;
constexpr mode_t kFolderMode = 0750;

/// Throws what the system says of `path`.
[[noreturn]] void fail(const char* doing, const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), std::string(doing) + " " + path.string());
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, kFileMode)), path_(path) {
    if (number_ < 0) fail("cannot open", path_);
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(number_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  /// Whatever the umask.
  void set_mode(mode_t mode) {
    if (::fchmod(number_, mode) != 0) fail("cannot set the mode of", path_);
  }
  void sync() {
    if (::fsync(number_) != 0) fail("cannot sync", path_);
  }

 private:
  int number_;
  fs::path path_;
};

void sync_folder(const fs::path& folder) {
  Descriptor(folder, O_RDONLY | O_DIRECTORY).sync();
}

/// Makes the folder and what is missing above it, durably.
void make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0) {
    if (errno == EEXIST) return;
    if (errno != ENOENT || !folder.has_relative_path()) fail("cannot make the folder", folder);
    make_folder(folder.parent_path());
    if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) fail("cannot make the folder", folder);
  }
  sync_folder(folder.has_parent_path() ? folder.parent_path() : fs::path("."));
}

enum class Presence { there, absent, unknown };
Presence look_for(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) return Presence::there;
  return errno == ENOENT ? Presence::absent : Presence::unknown;
}

bool is_safe_name(const std::string& message_id) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._-";
  return !message_id.empty() && message_id.find_first_not_of(kAllowed) == std::string::npos;
}

class FileTransport final : public MailTransport {
 public:
  explicit FileTransport(fs::path folder) : folder_(std::move(folder)) {
    if (!folder_.has_filename() && folder_.has_relative_path()) folder_ = folder_.parent_path();  // "outbox/"
  }

  std::optional<SendResult> prepare(const OutgoingMail& mail) override;
  SendResult send(const OutgoingMail& mail, std::int64_t budget_millis) override;
  std::optional<SendResult> recall(const std::string& message_id) override;
  void forget(const std::string& message_id) override;
  bool has_leftovers() const override { return may_have_leftovers_; }
  void forget_leftovers() override;
  std::size_t mails_at_once() const override { return 50; }

 private:
  fs::path draft(const std::string& message_id) const { return folder_ / ("." + message_id + ".tmp"); }
  fs::path marker(const std::string& message_id) const { return folder_ / ("." + message_id + ".here"); }
  fs::path final_path(const std::string& message_id) const { return folder_ / (message_id + ".eml"); }
  void write_draft(const OutgoingMail& mail) const;

  fs::path folder_;
  bool may_have_leftovers_ = true;  // of the daemon before this one
};

SendResult fault(const std::string& words) {
  return {SendVerdict::transport_fault, words};
}

SendResult unsafe_name() {
  return fault("the Message-ID cannot name a file: only letters, digits and @ . _ - are allowed");
}

std::optional<SendResult> FileTransport::prepare(const OutgoingMail& mail) {
  if (!is_safe_name(mail.message_id)) return unsafe_name();
  try {
    make_folder(folder_);
    write_draft(mail);  // first: a marker without a draft looks like a mail that was sent
    const Descriptor here(marker(mail.message_id), O_WRONLY | O_CREAT | O_NOFOLLOW);
    sync_folder(folder_);
    return std::nullopt;
  } catch (const std::system_error& error) {
    ::unlink(draft(mail.message_id).c_str());  // half a draft must not look like a mail that waits
    forget(mail.message_id);
    return fault(error.what());
  }
}

void FileTransport::write_draft(const OutgoingMail& mail) const {
  Descriptor file(draft(mail.message_id), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  file.set_mode(kFileMode);
  file.write(mail.bytes);
  file.sync();
}

SendResult FileTransport::send(const OutgoingMail& mail, std::int64_t budget_millis) {
  if (!is_safe_name(mail.message_id)) return unsafe_name();
  if (budget_millis <= 0) return fault("not sent: the lease on this mail ended");
  const fs::path path = final_path(mail.message_id);
  if (::rename(draft(mail.message_id).c_str(), path.c_str()) != 0) {
    const std::error_code reason(errno, std::generic_category());
    // An earlier attempt may have come this far.
    if (::access(path.c_str(), F_OK) == 0) return {SendVerdict::accepted, "written to " + path.string()};
    return fault("cannot rename " + draft(mail.message_id).string() + " to " + path.string() + ": " +
                 reason.message());
  }
  try {
    sync_folder(folder_);
  } catch (const std::system_error& error) {
    return {SendVerdict::uncertain, error.what()};
  }
  return {SendVerdict::accepted, "written to " + path.string()};
}

/// prepare() synced draft and marker before the mail could count as being sent, and only the rename takes the
/// draft away: a draft means not sent, and a marker alone means sent, even if a collector has the mail
/// already.
std::optional<SendResult> FileTransport::recall(const std::string& message_id) {
  if (!is_safe_name(message_id)) return std::nullopt;
  const fs::path path = final_path(message_id);
  const Presence waiting = look_for(draft(message_id));
  if (waiting == Presence::unknown) return std::nullopt;
  if (waiting == Presence::there)
    return SendResult{SendVerdict::try_later, path.string() + " is still a draft: not sent"};
  if (look_for(marker(message_id)) != Presence::there && look_for(path) != Presence::there)
    return std::nullopt;
  try {
    sync_folder(folder_);
    return SendResult{SendVerdict::accepted, "written to " + path.string()};
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

void FileTransport::forget(const std::string& message_id) {
  if (is_safe_name(message_id)) ::unlink(marker(message_id).c_str());
}

/// Markers alone: one with its draft belongs to a mail that another daemon is about to send.
void FileTransport::forget_leftovers() {
  std::error_code fault;
  for (fs::directory_iterator entry(folder_, fault); !fault && entry != fs::directory_iterator();
       entry.increment(fault)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    if (!name.starts_with('.') || !name.ends_with(".here")) continue;
    if (look_for(fs::path(path).replace_extension(".tmp")) == Presence::absent) ::unlink(path.c_str());
  }
  may_have_leftovers_ = false;
}

}  // namespace

std::unique_ptr<MailTransport> make_file_transport(const std::string& directory) {
  return std::make_unique<FileTransport>(directory);
}

}  // namespace giftsync::daemon
