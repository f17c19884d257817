// wiring: makes root become the owner of the store's folder before anything in it is opened (SEC-8). The
// owner of a folder can put a symbolic link there, or triggers into the store, and root would follow them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "daemon/config/settings.h"

namespace giftsync::wiring {

struct FolderOwner {
  uid_t user = 0;
  gid_t group = 0;      ///< of the folder, or of the store's file
  std::string refusal;  ///< if not empty: why there is no user to become; become() returns it
};

/// The user who decides what lies at `path`: the owner of the first part of its folder's path that root does
/// not own, symbolic links included. In a folder of root's that others may write to, it is the owner of the
/// store's file; a refusal if that is not a regular file of another user, or if a part cannot be read.
/// Nullopt: root alone decides, or there is no such folder.
std::optional<FolderOwner> other_owner_of_folder(const std::string& path);

/// The one of an SQLite store's folder when this process is root's, which it should become; else nullopt.
std::optional<FolderOwner> owner_to_become(const daemon::config::Settings& settings);

/// Becomes this user for good, with this user's groups. Returns why not: then open nothing. Main thread,
/// while there is no other one.
std::optional<std::string> become(const FolderOwner& owner);

}  // namespace giftsync::wiring
