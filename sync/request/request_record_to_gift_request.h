// sync: converts an approved request record into a gift request (REQ-1, REQ-14). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "crm/request_records.h"
#include "schema/store/account/accounts.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::sync {

/// The content that an approval is bound to.
std::string approved_content_of(const RequestRecord& completed);
/// Shipping and carbon count only if the record includes them.
store::GiftCosts request_costs(const store::GiftItem& item, const RequestRecord& record);
/// All fields, to be stored between claim and gift.
std::string format_request_record(const RequestRecord& completed);
RequestRecord parse_request_record(const std::string& id, const std::string& record_text);

/// Digits only; nullopt when they are no gift id.
std::optional<GiftId> parse_gift_id(const std::string& text);
/// Gift Id as a number; nullopt when it is none.
std::optional<GiftId> gift_id_of(const RequestRecord& record);

/// The send mode of a Send Type; nullopt when it is none (REQ-5).
std::optional<SendMode> send_mode_of(const std::string& send_type);

/// The gift request of a record without findings (request_record_findings.h). `completed`: with its defaults.
store::NewGiftRequest make_gift_request(const RequestRecord& completed, const store::GiftItem& item,
                                        const store::Account& account, UtcMillis now);

// Completes request records with defaults: the recipient from the contact or lead that the record
// names, the sender from its creator (REQ-14).

struct LoadedRequestRecord {
  RequestRecord row;
  RequestRecord completed;   ///< with its defaults
  bool person_found = true;  ///< the contact or lead that it names
};

/// One for each row, in order. Reads all contacts in one CRM call, and all leads in one.
std::vector<LoadedRequestRecord> load_with_defaults(crm::RequestRecords& records,
                                                    std::vector<RequestRecord> rows);

}  // namespace giftsync::sync
