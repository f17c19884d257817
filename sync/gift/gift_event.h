// sync: what happened to one gift on its way, for the log (OPS-30).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/log_line.h"
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

/// A line about one gift, which begins with its id: "gift 3: undelivered: ...".
inline LogLine gift_line(LogEvent event, TransactionId gift, std::string_view text) {
  return {event,
          "gift " + std::to_string(gift.value) + ": " + std::string(text),
          {gift_field(gift.value).not_in_text()}};
}

/// The fields of a line about this gift whose sentence names it, or names what it shares with others.
inline std::vector<LogField> fields_of(const store::Gift& gift) {
  return {gift_field(gift.transaction.id.value).not_in_text(),
          LogField("request", gift.request.id.value).not_in_text(),
          LogField("request_id", gift.request.http_request_id).not_in_text(),
          LogField("source", gift.transaction.gift_source).not_in_text()};
}

/// The same of a gift whose request is known.
inline LogLine gift_line(LogEvent event, const store::Gift& gift, std::string_view text) {
  LogLine line = gift_line(event, gift.transaction.id, text);
  line.fields = fields_of(gift);
  return line;
}

}  // namespace giftsync::sync
