// sync: converts a gift record that was in the CRM before giftsync into a transaction of the store (SYNC-52,
// SYNC-53). Its timestamps become changes of the source "crm", so that later changes fold together with them.
// A status without a time stays until a change of the same or a higher rank is known. Pure.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "schema/gift_record.h"
#include "schema/store/backfill_store.h"

namespace giftsync::sync {

/// The adoption, or a phrase that says why the record cannot be adopted.
tl::expected<schema::store::Adoption, std::string> plan_adoption(const schema::GiftRecord& record,
                                                                 platform::UtcMillis now);

/// Whether the adopted gift's sent_at is an estimate because its record has no Sent At.
bool is_sent_time_estimated(const schema::store::Gift& gift, const schema::GiftRecord& record);

/// The timestamps that the record has and `known` lacks, as changes.
std::vector<schema::store::StatusChange> changes_from_record(const schema::GiftRecord& record,
                                                             const schema::StatusTimes& known,
                                                             platform::UtcMillis now);

}  // namespace giftsync::sync
