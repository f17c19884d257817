// sync: what happened to one gift on its way, for the log (OPS-30).
#pragma once

#include <cstdint>
#include <string>

#include "schema/store/gift/gift_requests.h"

namespace giftsync::sync {

enum class GiftEventKind : std::uint8_t {
  mailed,           ///< its mail was handed to the relay
  reminded,         ///< a reminder was
  matched_contact,  ///< decided: it belongs to a contact
  matched_lead,
  unmatched,       ///< decided: neither contact nor lead
  record_created,  ///< in the CRM
  record_updated,
};

struct GiftEvent {
  GiftEventKind kind;
  TransactionId gift;
  GiftRequestId request;
  std::string http_request_id;  ///< of the call that asked for it; may be empty
  std::string gift_source;      ///< of a gift that was sent elsewhere
  std::string matched_id = {};  ///< of the contact or lead, of a matched gift
};

inline GiftEvent gift_event(GiftEventKind kind, const store::Gift& gift) {
  return {
      kind, gift.transaction.id, gift.request.id, gift.request.http_request_id, gift.transaction.gift_source,
      {}};
}

}  // namespace giftsync::sync
