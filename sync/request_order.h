// sync: from an approved request record to the gift request that it asks for, or to what is wrong with it
// (Spec 2.6, design 3.3). Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "schema/crm.h"
#include "schema/store/account_book.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::sync {

struct OrderLimits {
  std::size_t message_code_points = 10'000;
  std::size_t name_code_points = 255;
};

/// The record with what it leaves to others: recipient from its contact or lead, sender from its creator.
/// `person` is the contact or lead, null when there is none.
schema::RequestRecord completed(const schema::RequestRecord& row, const schema::Person* person);

/// What an approval of it is bound to.
std::string content_of(const schema::RequestRecord& completed);
/// All of it, for the time between claim and gift.
std::string order_text(const schema::RequestRecord& completed);
schema::RequestRecord record_of_order(const std::string& id, const std::string& order_text);

/// Digits alone; nullopt when they are no gift's number.
std::optional<schema::GiftId> gift_from_digits(const std::string& text);
/// Gift Id as a number; nullopt when it is none.
std::optional<schema::GiftId> gift_of(const schema::RequestRecord& record);

/// What is wrong with the record, and what to do about it: the first fault.
struct OrderFault {
  std::string text;
};
/// `item` is null when the catalogue has no such gift. `person_found` is false when the contact or lead that
/// the record names is not in the CRM.
std::variant<schema::NewGiftRequest, OrderFault> make_order(const schema::RequestRecord& completed,
                                                            bool person_found, const schema::GiftItem* item,
                                                            const schema::Account& account,
                                                            const OrderLimits& limits, schema::UtcMillis now);

}  // namespace giftsync::sync
