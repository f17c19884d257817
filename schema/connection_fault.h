// schema: whether a PostgreSQL connection string can be read at all, before anybody connects. Pure.
#pragma once

#include <optional>
#include <string>

namespace giftsync::schema {

/// libpq's own words for what it cannot read, on one line; nothing when the text is a good connection string
/// or URI. The words may quote the text, a password in it too.
std::optional<std::string> postgresql_connection_fault(const std::string& connection);

}  // namespace giftsync::schema
