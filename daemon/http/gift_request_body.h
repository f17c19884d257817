// daemon/http: what a caller asks for in the body of endpoint A (Spec 4.1) or B (Spec 4.2), read and checked
// in full. Pure: whether the gift exists is decided later, everything that the body alone tells is decided
// here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/http/field_note.h"
#include "daemon/http/strict_json.h"
#include "schema/ids.h"
#include "schema/words.h"

namespace giftsync::daemon {

struct GiftRequestLimits {
  std::size_t recipients = 1000;
  std::size_t message_code_points = 10000;
  std::size_t name_code_points = 255;  ///< first_name, last_name and utm_campaign_id
  bool refuse_placeholders = false;    ///< leftovers like {{first_name}} are faults, not warnings
};

struct RecipientBody {
  std::string email;       ///< as sent, trimmed; valid by schema::email_fault
  std::string first_name;  ///< trimmed; may be empty
  std::string last_name;   ///< trimmed; may be empty
  std::string message;     ///< as sent, with its own line ends; never blank
};

struct GiftRequestBody {
  schema::GiftId gift;
  std::optional<std::string> utm_campaign_id;  ///< endpoint B only; trimmed, never empty
  std::vector<RecipientBody> recipients;       ///< at least one, in the body's order
  /// The recognised fields as one text: equal exactly when two bodies ask for the same, however they are
  /// written (7 or "7", null or absent, order of members, unknown members). For comparing requests under one
  /// Idempotency-Key.
  std::string canonical;
  /// Unknown members, placeholders, equal addresses; at most kMaxWarnings of
  /// body_fields.h, the last one then tells how many more.
  FieldNotes warnings;
};

/// The body as a value; or why it is no JSON; or every fault of its content at once (never empty).
///
/// A member that is null counts as absent; `gift_id` may be a text of digits (Spec 4.1, last rule). On
/// endpoint A each recipient needs `gift_redeem_type` = "email" (Spec 2.2); on B that member, and on A
/// `utm_campaign_id`, is ignored with a warning, as any unknown member is.
std::variant<GiftRequestBody, JsonFault, FieldNotes> read_gift_request_body(std::string_view body,
                                                                            schema::SendMode mode,
                                                                            const GiftRequestLimits& limits);

/// What the CRM's own interface asks for (Spec 5.6): the body of endpoint A and whom it is sent on behalf of.
struct CrmGiftRequestBody {
  GiftRequestBody gift;  ///< its canonical text has the sender in it
  std::string user_id;   ///< of the CRM user; one of the two is empty
  std::string email;     ///< of the CRM user, trimmed
};

/// The same for `sender`: {"user_id": ...} or {"email": ...}.
std::variant<CrmGiftRequestBody, JsonFault, FieldNotes> read_crm_gift_request_body(
    std::string_view body, const GiftRequestLimits& limits);

}  // namespace giftsync::daemon
