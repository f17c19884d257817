// schema/store: stores one batch of a source inside its transaction. Included by this folder's .cpp files
// only.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/sql/dsn.h"
#include "schema/store/quarantine_inserts.h"
#include "schema/store/sources.h"

namespace soci {
class session;
}

namespace giftsync::schema::store {

/// As Sources::accept; throws QuotaExceeded. `changes` are those of the items that are not quarantined, with
/// their ids. The ids are the first ones of as many as there may be gifts and quarantined events.
IngestResult ingest_batch(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                          const std::vector<StatusChange>& changes, std::int64_t request_id,
                          std::int64_t quarantine_id);

/// The changes of the items that are not quarantined, in their order, without ids.
std::vector<StatusChange> changes_in(const InboundBatch& batch);

/// As Sources::foresee.
std::vector<ForeseenItem> foresee_batch(soci::session& session, sql::Dialect dialect,
                                        const InboundBatch& batch);

}  // namespace giftsync::schema::store
