// schema/store: keeps what approvers are mailed of a request record true after an edit (CON-31).
#pragma once

#include <string>

#include "schema/store/request_records.h"

namespace soci {
class session;
}

namespace giftsync::schema::store {

/// After an edit of the item or of what it costs: the record's notices name the new item and no cost. Those
/// of a mail that may have left stay, because a repeat has the same bytes.
void update_noticed_content(soci::session& session, const std::string& record_id,
                            const RequestRecordEdit& edit);

}  // namespace giftsync::schema::store
