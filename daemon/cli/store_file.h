// daemon/cli: the store's file on disk, when it is SQLite: that it can be opened, and that a file made by
// root belongs to whom the service runs as (design 5: "never leaves files that the service's user cannot
// write").
#pragma once

#include <optional>
#include <string>

#include "daemon/cli/installation.h"

namespace giftsync::daemon {

/// True when something stands at the path.
bool store_file_exists(const std::string& path);

/// Makes the file, empty, when there is none. Made by root, it belongs to the owner of its folder; SQLite
/// gives the files that it makes beside it the same owner. Refuses with what is in the way: a missing folder,
/// a folder or file that this user may not write.
std::optional<Refusal> prepare_store_file(const std::string& path);

}  // namespace giftsync::daemon
