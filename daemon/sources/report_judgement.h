// daemon/sources: what one raw report amounts to: a status change, perhaps with the gift it tells of;
// something to ignore; or something to keep aside, with the reason. Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "daemon/sources/source_plan.h"
#include "schema/store/catalogue.h"
#include "schema/store/source_book.h"

namespace giftsync::daemon {

struct Judgement {
  bool ignored = false;
  bool unreadable = false;  ///< it tells no usable transaction, status or time; it is kept aside as faulty
  std::set<ReportField> blamed;  ///< the fields that are faulty; of a report that was not read none
  schema::SourceItem item;
};

/// The catalogue's item, for what an external gift does not tell of itself.
using FindItem = std::function<std::optional<schema::GiftItem>(schema::GiftId)>;

Judgement judge(const RawReport& report, const SourcePlan& plan, schema::UtcMillis received_at,
                const FindItem& find_item);

/// RFC 3339, or seconds (up to ten digits, a fraction is fine) or milliseconds since 1970.
std::optional<schema::UtcMillis> read_time(std::string_view text);

}  // namespace giftsync::daemon
