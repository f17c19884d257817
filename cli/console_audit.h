// cli: what the commands for the console's users share: the audit event of a command, and finding a user.
#pragma once

#include <optional>
#include <string>

#include "cli/console.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// An event of the operating system's user (os_user.h), done now, about a user of the console; `user` without
/// values: about none.
schema::store::AuditEvent command_event(const Console& console, const std::string& action,
                                        const schema::store::ConsoleUser& user);

/// The user with that address. Otherwise prints the message and leaves `exit_code` (65) to return.
std::optional<schema::store::ConsoleUser> find_user(const Console& console, schema::store::Store& store,
                                                    const std::string& email, int& exit_code);

}  // namespace giftsync::cli
