#include "wiring/server_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "platform/digest.h"
#include "platform/random.h"

namespace giftsync::wiring {
namespace {

using Kind = ServerSecretError::Kind;

/// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Removes the temporary file, also after it was linked to its final name.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string last_error() {
  return std::generic_category().message(errno);
}

[[noreturn]] void throw_error(Kind kind, const std::string& path, const std::string& problem,
                              const std::string& next_step) {
  throw ServerSecretError(kind, "server secret " + path + ": " + problem + "; " + next_step);
}

[[noreturn]] void throw_unreadable(const std::string& path) {
  if (errno == ENOENT || errno == ENOTDIR) {
    throw_error(
        Kind::missing, path, "the file is missing",
        "restore it from the backup of the store; without it every link in mails sent so far is invalid");
  }
  throw_error(Kind::unusable, path, "the file cannot be read (" + last_error() + ")",
              "make the service's user its owner");
}

[[noreturn]] void throw_not_written(const std::string& path) {
  throw_error(Kind::not_written, path, "the file cannot be written (" + last_error() + ")",
              "allow the service's user to write to the folder, and check that its disk has free space");
}

void check_type_and_mode(const std::string& path, int descriptor) {
  struct stat file_stat {};
  if (::fstat(descriptor, &file_stat) != 0) throw_unreadable(path);
  if (!S_ISREG(file_stat.st_mode))
    throw_error(Kind::unusable, path, "the path is not a regular file", "restore it from the backup");
  if ((file_stat.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw_error(Kind::unusable, path, "other users than the owner have access to the file",
                "run chmod 600 on it");
  }
}

/// Reads at most one buffer; a secret is much shorter.
std::string read_content(const std::string& path, int descriptor) {
  std::array<char, 256> buffer{};
  std::string text;
  while (text.size() < buffer.size()) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size() - text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unreadable(path);
    if (count == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool write_all(int descriptor, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
  return true;
}

/// The directory's owner is the service's user; only root can, and must, change the file's owner.
bool chown_to_owner_of(const Descriptor& folder, const Descriptor& file) {
  struct stat file_stat {};
  if (::geteuid() != 0) return true;
  return ::fstat(folder.fd(), &file_stat) == 0 &&
         ::fchown(file.fd(), file_stat.st_uid, file_stat.st_gid) == 0;
}

}  // namespace

std::string read_server_secret(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) throw_unreadable(path);
  check_type_and_mode(path, file.fd());
  std::string text = read_content(path, file.fd());
  if (text.ends_with('\n')) text.pop_back();
  const std::optional<std::string> secret = platform::from_hex(text);
  if (!secret || secret->size() != kServerSecretBytes) {
    throw_error(Kind::unusable, path, "the file does not contain 64 hex digits",
                "restore it from the backup of the store");
  }
  return *secret;
}

std::string create_server_secret(const std::string& path) {
  std::string folder_path = std::filesystem::path(path).parent_path().string();
  if (folder_path.empty()) folder_path = ".";
  const Descriptor folder(::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) throw_not_written(path);
  std::string secret = platform::random_bytes(kServerSecretBytes);
  const TemporaryFile temporary(path + "." + platform::random_hex(8) + ".tmp");
  const Descriptor file(
      ::open(temporary.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open() || !write_all(file.fd(), platform::to_hex(secret) + "\n") ||
      !chown_to_owner_of(folder, file) || ::fsync(file.fd()) != 0) {
    throw_not_written(path);
  }
  // A link and not a rename: a rename would replace a secret that another process created meanwhile.
  if (::link(temporary.path().c_str(), path.c_str()) != 0) {
    if (errno != EEXIST) throw_not_written(path);
    throw_error(Kind::already_exists, path, "the file exists already",
                "keep it: it may be the secret of an existing store");
  }
  if (::fsync(folder.fd()) != 0) throw_not_written(path);
  return secret;
}

}  // namespace giftsync::wiring
