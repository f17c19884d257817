// schema/store: transactions that write several gifts lock them in the order of their ids (ARCH-40). Included
// by this folder's .cpp files and their tests only.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/sql/dsn.h"

namespace soci {
class session;
}

namespace giftsync::schema::store {

/// Locks those gifts that exist, before they are changed. Does nothing on SQLite, where a transaction is
/// alone.
void lock_gifts(soci::session& session, sql::Dialect dialect, const std::vector<std::int64_t>& ids);

/// Before gifts are created whose ids were not allotted here: another transaction that creates one of them
/// waits here, and not at a row that was inserted in another order. To be called before any other lock of
/// gifts. Does nothing on SQLite.
void lock_new_gifts(soci::session& session, sql::Dialect dialect, const std::vector<std::int64_t>& ids);

}  // namespace giftsync::schema::store
