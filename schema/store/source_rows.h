// schema/store: writing one report of a source inside its transaction. Included by this folder's .cpp files
// only.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/database_address.h"
#include "schema/store/source_book.h"

namespace soci {
class session;
}

namespace giftsync::schema::sql {

/// Thrown to roll the whole report back: too much of its source is held or kept aside.
struct TooMuchKept {};

/// As SourceBook::accept. `changes` are those of the items that are not kept aside, numbered; the ids are the
/// first of as many as there may be gifts, and reports kept aside.
SourceReceipt accept_report(soci::session& session, Dialect dialect, const SourceReport& report,
                            const std::vector<StatusChange>& changes, std::int64_t request_id,
                            std::int64_t aside_id);

}  // namespace giftsync::schema::sql
