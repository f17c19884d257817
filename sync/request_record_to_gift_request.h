// sync: converts an approved request record into a gift request (REQ-1, REQ-14). Pure.
#pragma once

#include <optional>
#include <string>

#include "schema/crm/crm.h"
#include "schema/store/accounts.h"
#include "schema/store/gift_requests.h"

namespace giftsync::sync {

/// The content that an approval is bound to.
std::string approved_content_of(const schema::RequestRecord& completed);
/// Shipping and carbon count only if the record includes them.
schema::store::GiftCosts request_costs(const schema::store::GiftItem& item,
                                       const schema::RequestRecord& record);
/// All fields, to be stored between claim and gift.
std::string format_request_record(const schema::RequestRecord& completed);
schema::RequestRecord parse_request_record(const std::string& id, const std::string& record_text);

/// Digits only; nullopt when they are no gift id.
std::optional<schema::GiftId> parse_gift_id(const std::string& text);
/// Gift Id as a number; nullopt when it is none.
std::optional<schema::GiftId> gift_id_of(const schema::RequestRecord& record);

/// The send mode of a Send Type; nullopt when it is none (REQ-5).
std::optional<schema::SendMode> send_mode_of(const std::string& send_type);

/// Of a record without findings (request_record_findings.h). `completed`: with its defaults.
schema::store::NewGiftRequest make_gift_request(const schema::RequestRecord& completed,
                                                const schema::store::GiftItem& item,
                                                const schema::store::Account& account,
                                                platform::UtcMillis now);

}  // namespace giftsync::sync
