// sql: what keeps this process from a file or folder, with the name of its user, and above all from the file
// of an SQLite database: SQLite's own errors ("unable to open database file") name neither the file nor the
// cause. Nothing is opened: closing the file would end the locks that SQLite has on it in this process. Any
// thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace giftsync::sql {

/// "giftsync", or "uid 1001" of a user without a name.
std::string user_name(uid_t user);

struct FileRefusal {
  int error = 0;      ///< errno
  std::string found;  ///< "the user giftsync may not write to the folder /srv/gifts (owner root, mode 0755)"
  std::string next_step;  ///< "let that user write to it, for example with chown giftsync /srv/gifts"
};

/// "FOUND; NEXT_STEP"
std::string describe(const FileRefusal& refusal);

/// Why this process may not use `path`, which exists, in `mode` (R_OK, W_OK, X_OK): because of the path
/// itself or of a folder that leads to it.
std::optional<FileRefusal> refused_access(const std::string& path, int mode);

/// Why this process cannot read and write the database at `path`, as it is now; the file itself may be
/// missing. SQLite keeps its log beside the file, so the folder counts too. Nothing: no cause is visible.
std::optional<FileRefusal> refused_database_file(const std::string& path);

}  // namespace giftsync::sql
