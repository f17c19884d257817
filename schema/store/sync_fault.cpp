#include "schema/store/sync_fault.h"

#include "schema/sql/database.h"

namespace giftsync::schema {

void note_sync_fault(const DatabaseAddress& store, const std::string& owner, const std::string& fault) {
  sql::Database::of(store)->write([&](soci::session& session) {
    session << "UPDATE sync_mark SET lease_owner = '', lease_until = 0, last_error = :fault WHERE "
               "lease_owner = :owner",
        soci::use(fault), soci::use(owner);
  });
}

}  // namespace giftsync::schema
