// schema/store: named values of the store itself (store_metadata), inside the caller's transaction. Included
// by this folder's .cpp files only.
#pragma once

#include <optional>
#include <string>

namespace soci {
class session;
}

namespace giftsync::store {

/// The value of that name in store_metadata, which exists.
std::optional<std::string> read_metadata(soci::session& session, const std::string& name);
/// Inserts the value, or replaces it.
void write_metadata(soci::session& session, const std::string& name, const std::string& value);

}  // namespace giftsync::store
