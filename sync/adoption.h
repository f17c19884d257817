// sync: what a gift record that was in the CRM before giftsync means as a transaction of the store (design 4,
// backfill). Its timestamps become changes of the source "crm", so that later changes fold together with
// them; a status without its time stays as long as nothing that ranks as high is known. Pure.
#pragma once

#include <string>
#include <variant>

#include "schema/gift_record.h"
#include "schema/store/backfill_book.h"

namespace giftsync::sync {

/// The adoption, or why the record is none of ours, as a phrase.
std::variant<schema::Adoption, std::string> adoption_of(const schema::GiftRecord& record,
                                                        schema::UtcMillis now);

/// Whether the time at which an adopted gift counts as sent is one that giftsync had to take: its record does
/// not say so.
bool is_sending_guessed(const schema::Gift& gift, const schema::GiftRecord& record);

/// The timestamps that a record has and `known` has not, as changes.
std::vector<schema::StatusChange> facts_of(const schema::GiftRecord& record, const schema::StatusTimes& known,
                                           schema::UtcMillis now);

}  // namespace giftsync::sync
