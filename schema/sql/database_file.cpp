#include "schema/sql/database_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace giftsync::sql {
namespace {

/// As its effective user; access() would ask for the real one.
int error_of_access(const std::string& path, int mode) {
  return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0 ? 0 : errno;
}

FileRefusal refusal_of(const std::string& path, int mode, int error) {
  struct stat facts {};
  const bool is_known = ::stat(path.c_str(), &facts) == 0;
  const std::string what = (is_known && S_ISDIR(facts.st_mode) ? "the folder " : "the file ") + path;
  if (error == EROFS)
    return {
        error, what + " is on a read-only file system",
        "mount it for writing; under systemd a unit writes only to its StateDirectory and ReadWritePaths"};
  if (error == EPERM) return {error, what + " is immutable", "run chattr -i on it"};
  if (error != EACCES)
    return {error, fmt::format("{} cannot be used ({})", what, std::generic_category().message(error)),
            "check the disk"};
  const std::string user = user_name(::geteuid());
  const char* verb = mode == X_OK ? "enter" : (mode & W_OK) != 0 ? "write to" : "read";
  const std::string facts_text =
      is_known ? fmt::format(" (owner {}, mode {:04o})", user_name(facts.st_uid), facts.st_mode & ALLPERMS)
               : "";
  return {error, fmt::format("the user {} may not {} {}{}", user, verb, what, facts_text),
          fmt::format("let that user {} it, for example with chown {} {}", verb, user, path)};
}

}  // namespace

std::string user_name(uid_t user) {
  std::array<char, 16384> text{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, text.data(), text.size(), &found) == 0 && found != nullptr)
    return entry.pw_name;
  return fmt::format("uid {}", user);
}

std::string describe(const FileRefusal& refusal) {
  return refusal.found + "; " + refusal.next_step;
}

std::optional<FileRefusal> refused_access(const std::string& path, int mode) {
  std::filesystem::path at;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const std::filesystem::path& part : folder) {
    at /= part;
    if (const int error = error_of_access(at, X_OK); error == EACCES) return refusal_of(at, X_OK, error);
  }
  const int error = error_of_access(path, mode);
  return error == 0 ? std::nullopt : std::optional(refusal_of(path, mode, error));
}

std::optional<FileRefusal> refused_database_file(const std::string& path) {
  // Called where a fault is described already: an own error would take its place.
  std::error_code error;
  const std::string folder = std::filesystem::absolute(path, error).parent_path().string();
  if (error) return std::nullopt;
  struct stat facts {};
  const bool has_folder = ::stat(folder.c_str(), &facts) == 0;
  if (!has_folder && errno == ENOENT)
    return FileRefusal{ENOENT, "there is no folder " + folder,
                       "create it for the user " + user_name(::geteuid())};
  if (has_folder && !S_ISDIR(facts.st_mode))
    return FileRefusal{ENOTDIR, folder + " is no folder", "name a file in a folder"};
  // A log that another user left, root for instance, is not writable beside a file that is.
  for (const char* of : {"", "-wal", "-shm"}) {
    const std::string file = path + of;
    const bool exists = ::stat(file.c_str(), &facts) == 0;
    if (exists && S_ISDIR(facts.st_mode)) return FileRefusal{EISDIR, file + " is a folder", "name a file"};
    if (exists || errno == EACCES)
      if (auto refusal = refused_access(file, R_OK | W_OK)) return refusal;
  }
  return refused_access(folder, W_OK | X_OK);
}

}  // namespace giftsync::sql
