// daemon/validation: parses and validates the body of endpoint A (HTTP-1) or B (HTTP-2). Pure. Whether the
// gift exists is checked later; everything that depends on the body alone is checked here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/validation/json_body.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::validation {

struct GiftRequestLimits {
  std::size_t max_recipients = 1000;
  std::size_t max_message_code_points = 10000;
  std::size_t max_name_code_points = 255;  ///< first_name, last_name and utm_campaign_id
  bool refuse_placeholders = true;  ///< unfilled merge fields like {{first_name}} are errors, not warnings
};

struct GiftRequestBody {
  GiftId gift;
  std::optional<std::string> utm_campaign_id;  ///< trimmed, never empty
  std::string reference{};                     ///< the caller's own, trimmed; may be empty; not from the CRM
  /// At least one, in the body's order. Addresses are as sent, trimmed, and valid by email_error;
  /// names are trimmed and may be empty; messages are as sent, with their own line ends, and never blank.
  std::vector<store::NewRecipient> recipients;
  /// The recognised fields as one text. Two texts are equal exactly when the bodies ask for the same,
  /// regardless of notation (7 or "7", null or absent, order of members, unknown members). Used to compare
  /// requests with the same Idempotency-Key.
  std::string canonical;
  /// The same of the fields that the versions before `reference` recognised, which may have used the key;
  /// empty: as `canonical`.
  std::string former_canonical{};
  /// Unknown members, placeholders, duplicate addresses.
  WarningList warnings;
};

/// The body as a value, or its errors.
///
/// A member that is null counts as absent; `gift_id` may be a text of digits (HTTP-4). On endpoint A each
/// recipient needs `gift_redeem_type` = "email" (HTTP-3). On B that member is ignored with a warning, like
/// any unknown member. `reference` is taken of the request and of each recipient (HTTP-58).
tl::expected<GiftRequestBody, BodyError> parse_gift_request_body(std::string_view body, SendMode mode,
                                                                 const GiftRequestLimits& limits);

/// The request of the CRM's sending interface (HTTP-8): the body of endpoint A and the sender.
struct CrmGiftRequestBody {
  GiftRequestBody gift;  ///< its canonical text includes the sender
  std::string user_id;   ///< of the CRM user; one of the two is empty
  std::string email;     ///< of the CRM user, trimmed
};

/// The same with `sender`: {"user_id": ...} or {"email": ...}.
tl::expected<CrmGiftRequestBody, BodyError> parse_crm_gift_request_body(std::string_view body,
                                                                        const GiftRequestLimits& limits);

/// The catalogue has no such active gift: an error of gift_id.
FieldIssue unknown_gift_issue(GiftId gift);

}  // namespace giftsync::validation
