// schema/sql: which file a path leads to. SQLite goes on writing to a file that was deleted, moved away or
// replaced while it is open, and everything written there is lost.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace giftsync::schema::sql {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Nullopt when there is no such file.
inline std::optional<FileIdentity> identify_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

}  // namespace giftsync::schema::sql
