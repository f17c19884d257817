// sync: when gifts of external sources were sent (STATUS-30). For giftsync's own gifts giftsync sets the
// time, for adopted gifts their record; for external gifts their source is the authority.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::sync {

/// For those gifts that are external: the earliest "sent" report that counts, in whatever order the reports
/// arrived. While none counts, the earliest voided one, because the gift was sent at some time.
/// `effective_spans` are the gifts' changes that count.
std::map<TransactionId, UtcMillis> reported_sent_times(store::ChangeLog& log,
                                                       std::span<const store::Gift* const> gifts,
                                                       std::span<const store::ChangeSpan> effective_spans);

}  // namespace giftsync::sync
