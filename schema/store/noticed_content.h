// schema/store: keeps what approvers are mailed of a request record equal to the record (CON-31).
#pragma once

#include <string>

namespace soci {
class session;
}

namespace giftsync::schema::store {

/// After an edit of the record: its notices lose item and cost, so that ApproverNotices::find_unnoticed()
/// names it again and add() fills them in. Those of a mail that may have left keep them: a repeat has the
/// same bytes.
void forget_noticed_content(soci::session& session, const std::string& record_id);

}  // namespace giftsync::schema::store
