// schema/sql: checks the syntax of a PostgreSQL connection string without connecting. Pure.
#pragma once

#include <optional>
#include <string>

namespace giftsync::schema::sql {

/// libpq's error message on one line; nothing when the text is a valid connection string or URI. The
/// message may quote the text, including a password.
std::optional<std::string> postgresql_dsn_error(const std::string& connection);

/// Why a valid connection string that names several hosts does not lead to the primary among them, and what
/// to do; nothing when it does, or names one host. Quotes nothing of the text.
std::optional<std::string> several_hosts_fault(const std::string& connection);

}  // namespace giftsync::schema::sql
