// sync: when gifts from outside were sent. Ours are sent when giftsync says so, and an adopted one when its
// record does; of the others their source is the authority (Spec 6.3.1, design 3.1).
#pragma once

#include <map>
#include <span>
#include <vector>

#include "schema/store/change_log.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::sync {

/// Of those gifts that come from outside, the earliest report of "sent" that counts, in whatever order the
/// reports came. A gift was sent at some time: while none of its reports counts, the earliest of the voided
/// ones stands. `counting` is what counts of the gifts' changes.
std::map<schema::TransactionId, schema::UtcMillis> reported_times_of_sending(
    schema::ChangeLog& log, std::span<const schema::Gift* const> gifts,
    std::span<const schema::ChangeSpan> counting);

}  // namespace giftsync::sync
