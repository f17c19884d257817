#include "schema/store/statements/metadata.h"

#include "schema/sql/queries.h"

namespace giftsync::store {

using soci::use;

std::optional<std::string> read_metadata(soci::session& session, const std::string& name) {
  return sql::select_value<std::optional<std::string>>(
      session, "SELECT max(value) FROM store_metadata WHERE name = :name", use(name));
}

void write_metadata(soci::session& session, const std::string& name, const std::string& value) {
  session
      << "INSERT INTO store_metadata (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET "
         "value = excluded.value",
      use(name), use(value);
}

}  // namespace giftsync::store
