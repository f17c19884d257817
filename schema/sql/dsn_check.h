// schema/sql: checks the syntax of a PostgreSQL connection string without connecting. Pure.
#pragma once

#include <optional>
#include <string>

namespace giftsync::schema::sql {

/// libpq's error message on one line; nothing when the text is a valid connection string or URI. The
/// message may quote the text, including a password.
std::optional<std::string> postgresql_dsn_error(const std::string& connection);

}  // namespace giftsync::schema::sql
