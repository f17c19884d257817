// cli: what commands share that add to the audit log: the event, and finding a user of the console.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "cli/console.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// An event of the operating system's user (os_user.h), done now, about a user of the console; `user` without
/// values: about none.
schema::store::AuditEvent command_event(const Console& console, const std::string& action,
                                        const schema::store::ConsoleUser& user,
                                        const std::string& detail = {});

/// The same about a gift, of the organization of its sender's account.
schema::store::AuditEvent gift_command_event(const Console& console, schema::store::Store& store,
                                             const std::string& action, schema::TransactionId gift);

/// The user with that address. Otherwise prints the message and returns the exit code (65).
tl::expected<schema::store::ConsoleUser, int> find_user(const Console& console, schema::store::Store& store,
                                                        const std::string& email);

}  // namespace giftsync::cli
