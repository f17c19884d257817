#include "daemon/crypto/server_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "daemon/crypto/digest.h"
#include "daemon/crypto/random.h"

namespace giftsync::daemon {
namespace {

using Kind = ServerSecretFault::Kind;

/// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

/// Removes the half-made file, whether or not it got its name.
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

[[noreturn]] void refuse(Kind kind, const std::string& path, const std::string& wrong,
                         const std::string& next_step) {
  throw ServerSecretFault(kind, "server secret " + path + ": " + wrong + "; " + next_step);
}

[[noreturn]] void refuse_unreadable(const std::string& path) {
  if (errno == ENOENT || errno == ENOTDIR) {
    refuse(Kind::missing, path, "the file is missing",
           "restore it from the backup of the store; without it every link in mails sent so far is invalid");
  }
  refuse(Kind::unusable, path, "it cannot be read (" + last_error() + ")", "let the service's user own it");
}

[[noreturn]] void refuse_unwritten(const std::string& path) {
  refuse(Kind::not_written, path, "it cannot be written (" + last_error() + ")",
         "let the service's user write to the folder, and check that its disk has room");
}

void check_facts(const std::string& path, int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) refuse_unreadable(path);
  if (!S_ISREG(facts.st_mode))
    refuse(Kind::unusable, path, "it is not a regular file", "restore it from the backup");
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    refuse(Kind::unusable, path, "others than its owner have rights on it", "run chmod 600 on it");
  }
}

/// As much as fits; a secret is much shorter.
std::string text_of(const std::string& path, int descriptor) {
  std::array<char, 256> room{};
  std::string text;
  while (text.size() < room.size()) {
    const ssize_t count = ::read(descriptor, room.data(), room.size() - text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_unreadable(path);
    if (count == 0) break;
    text.append(room.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool write_whole(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return true;
}

/// The folder's owner is the service's user; only root can, and needs to, hand the file over.
bool give_to_owner_of(const Descriptor& folder, const Descriptor& file) {
  struct stat facts {};
  if (::geteuid() != 0) return true;
  return ::fstat(folder.number(), &facts) == 0 && ::fchown(file.number(), facts.st_uid, facts.st_gid) == 0;
}

}  // namespace

std::string read_server_secret(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) refuse_unreadable(path);
  check_facts(path, file.number());
  std::string text = text_of(path, file.number());
  if (text.ends_with('\n')) text.pop_back();
  const std::optional<std::string> secret = from_hex(text);
  if (!secret || secret->size() != kServerSecretBytes) {
    refuse(Kind::unusable, path, "it does not hold 64 hex digits", "restore it from the backup of the store");
  }
  return *secret;
}

std::string create_server_secret(const std::string& path) {
  std::string folder_path = std::filesystem::path(path).parent_path().string();
  if (folder_path.empty()) folder_path = ".";
  const Descriptor folder(::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) refuse_unwritten(path);
  std::string secret = random_bytes(kServerSecretBytes);
  const TemporaryFile temporary(path + "." + random_hex(8) + ".tmp");
  const Descriptor file(
      ::open(temporary.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open() || !write_whole(file.number(), to_hex(secret) + "\n") ||
      !give_to_owner_of(folder, file) || ::fsync(file.number()) != 0) {
    refuse_unwritten(path);
  }
  // A link and not a rename: a rename would replace a secret that another process made meanwhile.
  if (::link(temporary.path().c_str(), path.c_str()) != 0) {
    if (errno != EEXIST) refuse_unwritten(path);
    refuse(Kind::already_exists, path, "a file is already there",
           "keep it: it may be the secret of an existing store");
  }
  if (::fsync(folder.number()) != 0) refuse_unwritten(path);
  return secret;
}

}  // namespace giftsync::daemon
