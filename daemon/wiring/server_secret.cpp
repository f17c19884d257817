#include "daemon/wiring/server_secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/wiring/database_config.h"
#include "platform/digest.h"
#include "platform/keys.h"
#include "platform/logging.h"

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

int open_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
  const std::optional<std::string> secret = from_hex(text);
  if (!secret || secret->size() != kServerSecretBytes) {
    throw_error(Kind::unusable, path, "the file does not contain 64 hex digits",
                "restore it from the backup of the store");
  }
  return *secret;
}

std::string create_server_secret(const std::string& path) {
  const Descriptor folder(open_folder_of(path));
  if (!folder.is_open()) throw_not_written(path);
  std::string secret = random_bytes(kServerSecretBytes);
  const TemporaryFile temporary(path + "." + random_hex(8) + ".tmp");
  const Descriptor file(
      ::open(temporary.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open() || !write_all(file.fd(), to_hex(secret) + "\n") || !chown_to_owner_of(folder, file) ||
      ::fsync(file.fd()) != 0) {
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

namespace {

constexpr std::string_view kNext = ".next";

std::string fingerprint_of(const std::string& secret) {
  return sync::LinkSigner(secret).fingerprint();
}

/// The fingerprint of the file's secret; empty when it cannot be read.
std::string fingerprint_in(const std::string& path) {
  try {
    return fingerprint_of(read_server_secret(path));
  } catch (const ServerSecretError&) {
    return {};
  }
}

std::string wrong_secret(const std::string& path, const config::Settings& settings, store::Store& store) {
  const auto rotation = secret_rotation_of(store);
  if (rotation && fingerprint_in(path) == rotation->former_fingerprint)
    return fmt::format(
        "{} is the former server secret of this store, which got another one at {}: copy the file from the "
        "machine where \"giftsyncctl secret rotate\" ran, or restore it from a backup made after that",
        path, to_rfc3339(rotation->rotated_at));
  return path +
         " is not the server secret of this store: with it every link in every mail sent so far would be "
         "invalid; restore the right file from the backup, or check store.connection in " +
         settings.file;
}

/// The next secret takes the place of the former one, and of no other. A file system that refuses it changes
/// nothing: the next secret is read from its own file until then. Under a lock, because another process may
/// have exchanged the files and prepared a later secret, whose only copy is the file of the next one.
void exchange_files(const std::string& path, const std::string& fingerprint,
                    const std::optional<store::SecretRotation>& rotation) {
  const std::string next = path + std::string(kNext);
  const Descriptor folder(open_folder_of(path));
  std::error_code error;
  if (!folder.is_open() || ::flock(folder.fd(), LOCK_EX) != 0) {
    error = {errno, std::generic_category()};
  } else if (fingerprint_in(next) == fingerprint) {
    std::error_code ignored_error;
    const std::string present = fingerprint_in(path);
    if (present == fingerprint)
      std::filesystem::remove(next, error);
    else if ((rotation && present == rotation->former_fingerprint) ||
             !std::filesystem::exists(path, ignored_error))
      std::filesystem::rename(next, path, error);
  }
  if (error)
    log_event(LogEvent::secret_file_stuck,
              fmt::format("{} is the server secret of this store and cannot take the place of {} ({}): allow "
                          "the service's user to write to the folder, and back up both files until then",
                          next, path, error.message()));
}

/// The bytes of the next secret if it is the store's by now.
std::optional<std::string> rotated_secret(const std::string& path, const std::string& fingerprint) {
  try {
    std::string next = read_server_secret(path + std::string(kNext));
    if (fingerprint_of(next) == fingerprint) return next;
  } catch (const ServerSecretError&) {
    // There is none, or it is not used yet.
  }
  return std::nullopt;
}

ServerSecrets with_former(std::string current, std::optional<store::SecretRotation> rotation) {
  ServerSecrets secrets{std::move(current), std::nullopt};
  if (!rotation) return secrets;
  auto former = giftsync::open_sealed_text(secrets.current, kFormerSecretLabel, rotation->sealed_former);
  if (former) secrets.former = FormerSecret{std::move(*former), std::move(*rotation)};
  return secrets;
}

/// The file's bytes; creates the file for a store that has never had a secret.
std::string read_or_create(const std::string& path, bool may_create) {
  try {
    return read_server_secret(path);
  } catch (const ServerSecretError& fault) {
    if (fault.kind() != ServerSecretError::Kind::missing || !may_create) throw;
  }
  try {
    return create_server_secret(path);
  } catch (const ServerSecretError& fault) {
    if (fault.kind() != ServerSecretError::Kind::already_exists) throw;
    return read_server_secret(path);  // another daemon created it at the same time
  }
}

}  // namespace

std::string server_secret_path(const config::Settings& settings) {
  if (settings.store.backend == config::StoreBackend::sqlite) {
    return std::filesystem::path(settings.store.connection).replace_extension(".secret").string();
  }
  const char* state = std::getenv("STATE_DIRECTORY");
  const std::filesystem::path folder =
      state && *state ? std::filesystem::path(state) : std::filesystem::path(settings.file).parent_path();
  return (folder / "giftsync.secret").string();
}

std::string next_server_secret_path(const config::Settings& settings) {
  return server_secret_path(settings) + std::string(kNext);
}

store::ServerFile server_file(const config::Settings& settings) {
  if (settings.store.backend == config::StoreBackend::sqlite) return {};
  return {.path = std::filesystem::path(server_secret_path(settings)).replace_extension(".server").string(),
          .on_write_fault = [](const std::string& fault) {
            log_event(LogEvent::server_file_not_written, fault);
          }};
}

store::ServerFile server_file_of_daemon(const config::Settings& settings) {
  constexpr const char* kOfService = "/var/lib/giftsync/giftsync.server";
  store::ServerFile file = server_file(settings);
  file.may_write = false;
  std::error_code ignored_error;
  if (!file.path.empty() && !std::filesystem::exists(file.path, ignored_error)) file.path = kOfService;
  return file;
}

std::optional<std::string> secret_without_store_fault(const config::Settings& settings) {
  const std::string path = server_secret_path(settings);
  std::error_code ignored_error;
  if (!std::filesystem::exists(path, ignored_error)) return std::nullopt;
  return store_location(settings) + ": there is no store, but its server secret is there (" + path +
         "): if giftsyncd runs, do not stop it, see \"Store outage\" in troubleshooting.md; otherwise "
         "restore the store from its backup, or correct store.connection in " +
         settings.file + "; to begin with an empty store, move the secret away";
}

std::optional<store::SecretRotation> secret_rotation_of(store::Store& store) {
  const auto text = store.metadata(store::kSecretRotationFact);
  return text ? store::secret_rotation_from(*text) : std::nullopt;
}

std::optional<std::string> server_secret_fault(const config::Settings& settings, store::Store& store) {
  const bool is_beside_store = settings.store.backend == config::StoreBackend::sqlite;
  if (!is_beside_store && std::getenv("STATE_DIRECTORY") == nullptr) return std::nullopt;
  const std::string path = server_secret_path(settings);
  const std::optional<std::string> known = store.metadata(store::kSecretFingerprintFact);
  if (!known || rotated_secret(path, *known)) return std::nullopt;
  try {
    if (fingerprint_of(read_server_secret(path)) == *known) return std::nullopt;
    return wrong_secret(path, settings, store);
  } catch (const ServerSecretError& fault) {
    return fault.what();
  }
}

std::optional<ServerSecrets> readable_server_secrets(const config::Settings& settings, store::Store& store) {
  const std::string path = server_secret_path(settings);
  const std::optional<std::string> known = store.metadata(store::kSecretFingerprintFact);
  if (!known) return std::nullopt;
  try {
    std::optional<std::string> secret = rotated_secret(path, *known);
    if (!secret) secret = read_server_secret(path);
    if (fingerprint_of(*secret) == *known) return with_former(std::move(*secret), secret_rotation_of(store));
  } catch (const ServerSecretError&) {
    // The caller does without it.
  }
  return std::nullopt;
}

ServerSecrets load_server_secrets(const config::Settings& settings, store::Store& store) {
  const std::string path = server_secret_path(settings);
  // Read before the rotation: the other way round, a rotation in between would look like a wrong file.
  const std::optional<std::string> known = store.metadata(store::kSecretFingerprintFact);
  const std::optional<store::SecretRotation> rotation = secret_rotation_of(store);
  if (auto rotated = known ? rotated_secret(path, *known) : std::nullopt) {
    exchange_files(path, *known, rotation);
    return with_former(std::move(*rotated), rotation);
  }
  std::string secret;
  try {
    secret = read_or_create(path, !known && store.is_unused());
  } catch (const ServerSecretError& fault) {
    throw ConfigError(
        std::string(fault.what()) +
        (known ? "; the links in every mail sent so far depend on it: restore it from the backup, or "
                 "copy it from the other daemon of this store"
               : ""));
  }
  const std::string fingerprint = fingerprint_of(secret);
  const std::string stored = store.set_metadata_if_absent(store::kSecretFingerprintFact, fingerprint);
  if (stored == fingerprint) return with_former(std::move(secret), secret_rotation_of(store));
  if (known && stored != *known) return load_server_secrets(settings, store);  // rotated meanwhile
  throw ConfigError(wrong_secret(path, settings, store));
}

std::string load_server_secret(const config::Settings& settings, store::Store& store) {
  return load_server_secrets(settings, store).current;
}

std::optional<sync::FormerSigner> former_signer(const ServerSecrets& secrets) {
  if (!secrets.former) return std::nullopt;
  return sync::FormerSigner{sync::LinkSigner(secrets.former->secret), secrets.former->rotation.links_until};
}

UtcMillis links_since(store::Store& store) {
  const auto rotation = secret_rotation_of(store);
  return rotation ? rotation->rotated_at : UtcMillis{INT64_MIN};
}

std::optional<std::string> open_sealed_text(const ServerSecrets& secrets, std::string_view label,
                                            std::string_view sealed) {
  auto text = giftsync::open_sealed_text(secrets.current, label, sealed);
  if (!text && secrets.former) text = giftsync::open_sealed_text(secrets.former->secret, label, sealed);
  return text;
}

}  // namespace giftsync::wiring
