// daemon/salesforce: whether a record of an org that keeps no versions is giftsync's own. Pure; any thread.
#pragma once

#include "schema/gift_record.h"

namespace giftsync::daemon::salesforce {

/// A record with a gift's Transaction Id has what giftsync writes for that gift: the same Recipient Email, or
/// the same Sent At to the second. Without either it is taken for another one's record.
bool is_own_record(const schema::GiftRecord& record, const schema::GiftRecord& gift);

}  // namespace giftsync::daemon::salesforce
