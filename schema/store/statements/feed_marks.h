// schema/store: marks of what the feed has to publish (API-10), inside the transaction of the change. With
// the feed off every function does nothing. Included by schema/store's .cpp files only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "schema/ids.h"
#include "schema/sql/bulk_rows.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// Of what a mark is. Stored: the numbers stay.
enum class FeedMarkKind : std::int64_t { gift = 1, request_record_transition = 2, held_request = 3 };

/// Why there is a mark; bits. Stored: the numbers stay.
namespace feed_reason {
inline constexpr std::int64_t kMade = 1;     ///< a gift was made, a request was held
inline constexpr std::int64_t kChanged = 2;  ///< anything of it may have changed; a held request was decided
inline constexpr std::int64_t kSilent = 4;   ///< changed in a way that its version does not tell
}  // namespace feed_reason

/// What counts as published of a gift that is made: its status, its bits and its version (PublishedState in
/// schema/store/event/feed.h).
inline constexpr std::string_view kPublishedOfMade = "sent 1 1";

/// Whether this process marks what has changed.
bool keeps_feed(soci::session& session);

/// For feed_queue. A mark that is there already is locked and kept: a worker that deletes it waits for this
/// transaction, and so publishes this change too, or it has passed and another mark is made.
sql::BulkInsert feed_mark_rows(sql::Dialect dialect);
/// To be called in the order of the ids, with each id once.
void add_feed_mark(sql::BulkInsert& rows, FeedMarkKind kind, std::int64_t object, std::int64_t reasons,
                   UtcMillis now);

/// Marks the objects in the order of their ids.
void mark_for_feed(soci::session& session, FeedMarkKind kind, std::span<const std::int64_t> objects,
                   std::int64_t reasons, UtcMillis now);
void mark_for_feed(soci::session& session, std::span<const TransactionId> gifts, std::int64_t reasons,
                   UtcMillis now);

}  // namespace giftsync::store
