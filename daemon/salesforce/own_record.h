// daemon/salesforce: whether a record of an org that keeps no versions is giftsync's own. Pure; any thread.
#pragma once

#include "schema/gift_record.h"

namespace giftsync::daemon::salesforce {

/// A record with the gift's Transaction Id is giftsync's own when it has the gift's Recipient Email, perhaps
/// cut, or its Sent At to the second; a record of another one has neither. A gift without both, which
/// giftsync does not make, is compared with a record without both.
bool is_own_record(const schema::GiftRecord& record, const schema::GiftRecord& gift);

}  // namespace giftsync::daemon::salesforce
