// cli: the SQLite store's file: checks that it can be opened, and gives a file that root creates to the
// service's user (OPS-17).
#pragma once

#include <optional>
#include <string>

#include "cli/cli_context.h"

namespace giftsync::cli {

/// Creates an empty file if there is none. A file that root creates gets the owner of its folder; SQLite
/// gives its journal files the same owner. Refuses a missing folder, and a folder or file that this user may
/// not write.
std::optional<Refusal> prepare_store_file(const std::string& path);

}  // namespace giftsync::cli
