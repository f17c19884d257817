// schema/store: named values of the store itself (store_metadata), inside the caller's transaction. Included
// by this folder's .cpp files only.
#pragma once

#include <optional>
#include <string>

#include "schema/sql/queries.h"

namespace giftsync::store {

/// The value of that name in store_metadata, which exists.
inline std::optional<std::string> read_metadata(soci::session& session, const std::string& name) {
  return sql::select_value<std::optional<std::string>>(
      session, "SELECT max(value) FROM store_metadata WHERE name = :name", soci::use(name));
}

/// Inserts the value, or replaces it.
inline void write_metadata(soci::session& session, const std::string& name, const std::string& value) {
  session
      << "INSERT INTO store_metadata (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET "
         "value = excluded.value",
      soci::use(name), soci::use(value);
}

}  // namespace giftsync::store
