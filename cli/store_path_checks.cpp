#include "cli/store_path_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "wiring/store_preflight.h"

namespace giftsync::cli {
namespace {

constexpr mode_t kStoreFileMode = 0640;  // it contains names and addresses of people

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

Refusal missing_directory(const std::string& path, const std::string& folder) {
  return {
      EX_CANTCREAT,
      {fmt::format(
          "{}: the store cannot be created: there is no folder {}; create it, or correct store.connection",
          path, folder)}};
}

Refusal cannot_create(const std::string& path, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  return {forbidden ? EX_NOPERM : EX_CANTCREAT,
          {fmt::format("{}: the store cannot be created: {}; {}", path, reason_of(error),
                       forbidden ? "run this as the service's user or as root (sudo)" : "check the disk")}};
}

Refusal cannot_open(const std::string& path, int error) {
  return {
      EX_NOPERM,
      {fmt::format("{}: the store cannot be opened: {}; run this as the service's user or as root (sudo), "
                   "which becomes the owner of the store's folder",
                   path, reason_of(error))}};
}

/// Changes the owner only of a file that this process has just created: otherwise the folder's owner could
/// make root give away another file.
std::optional<Refusal> create_for_owner(const std::string& path, const struct stat& folder) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kStoreFileMode);
  if (file < 0 && errno == EEXIST) return std::nullopt;  // another program created it first
  if (file < 0) return cannot_create(path, errno);
  const bool for_another = geteuid() == 0 && (folder.st_uid != 0 || folder.st_gid != 0);
  const int refused = for_another && fchown(file, folder.st_uid, folder.st_gid) != 0 ? errno : 0;
  close(file);
  if (refused == 0) return std::nullopt;
  unlink(path.c_str());
  return cannot_create(path, refused);
}

}  // namespace

std::optional<Refusal> prepare_store_file(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0) {
    if (errno == EACCES) return cannot_open(path, errno);
    return missing_directory(path, folder);
  }
  if (!S_ISDIR(found.st_mode)) return missing_directory(path, folder);
  if (!wiring::store_file_exists(path)) {
    if (auto refusal = create_for_owner(path, found)) return refusal;
  }
  if (std::filesystem::is_directory(path)) return cannot_open(path, EISDIR);
  if (access(path.c_str(), R_OK | W_OK) != 0) return cannot_open(path, errno);
  // SQLite creates its journal in the same folder.
  if (access(folder.c_str(), W_OK | X_OK) != 0) return cannot_open(folder, errno);
  return std::nullopt;
}

}  // namespace giftsync::cli
