// sync: the gift record that a gift should have in the CRM, computed from the store (SYNC-3, SYNC-4). Pure.
#pragma once

#include <string>
#include <vector>

#include "schema/gift_record.h"
#include "schema/store/gift_requests.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

struct GiftRecordDraft {
  schema::GiftRecord record;
  std::vector<std::string> warnings;  ///< one for each text that was cut to its field's length
};

/// `link` is the read-only link to the gift. `integration_user` is giftsync's CRM user id; if it is empty the
/// sender counts as the one who triggered the gift.
GiftRecordDraft draft_gift_record(const schema::store::Gift& gift,
                                  const schema::store::MatchDecision& decision, const std::string& link,
                                  const std::string& integration_user);

}  // namespace giftsync::sync
