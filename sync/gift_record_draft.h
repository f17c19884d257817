// sync: the gift record that a gift should have in the CRM, from what the store knows of it (Spec 2.5,
// design 3.2). Pure.
#pragma once

#include <string>
#include <vector>

#include "schema/gift_record.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/sync_queue.h"

namespace giftsync::sync {

struct GiftRecordDraft {
  schema::GiftRecord record;
  std::vector<std::string> warnings;  ///< texts that were cut to their field's length
};

/// `link` is the read-only link to the gift. `integration_user` is the CRM user id that stands for giftsync;
/// when it is empty the sender counts as who triggered the gift.
GiftRecordDraft draft_gift_record(const schema::Gift& gift, const schema::MatchDecision& decision,
                                  const std::string& link, const std::string& integration_user);

}  // namespace giftsync::sync
