// sync: converts an approved request record into a gift request, or says what is wrong with it (REQ-1,
// REQ-14). Pure.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "schema/crm/crm.h"
#include "schema/store/accounts.h"
#include "schema/store/gift_requests.h"

namespace giftsync::sync {

struct GiftRequestLimits {
  std::size_t message_code_points = 10'000;
  std::size_t name_code_points = 255;
};

/// The content that an approval is bound to.
std::string approved_content_of(const schema::RequestRecord& completed);
/// All fields, to be stored between claim and gift.
std::string format_request_record(const schema::RequestRecord& completed);
schema::RequestRecord parse_request_record(const std::string& id, const std::string& record_text);

/// Digits only; nullopt when they are no gift id.
std::optional<schema::GiftId> parse_gift_id(const std::string& text);
/// Gift Id as a number; nullopt when it is none.
std::optional<schema::GiftId> gift_id_of(const schema::RequestRecord& record);

/// The gift request, or the first error of the record and how to correct it. `item` is null when the
/// catalogue has no such gift. `person_found` is false when the contact or lead that the record names is not
/// in the CRM.
tl::expected<schema::store::NewGiftRequest, std::string> make_gift_request(
    const schema::RequestRecord& completed, bool person_found, const schema::store::GiftItem* item,
    const schema::store::Account& account, const GiftRequestLimits& limits, platform::UtcMillis now);

}  // namespace giftsync::sync
