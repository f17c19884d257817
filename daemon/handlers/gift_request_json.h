// daemon/handlers: the JSON of gift requests and of their answers. Parses and validates the body of endpoint
// A (HTTP-1) or B (HTTP-2). Pure. Whether the gift
// exists is checked later; everything that depends on the body alone is checked here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/http/problem.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::handlers {

struct GiftRequestLimits {
  std::size_t max_recipients = 1000;
  std::size_t max_message_code_points = 10000;
  std::size_t max_name_code_points = 255;  ///< first_name, last_name and utm_campaign_id
  bool refuse_placeholders = false;  ///< unfilled merge fields like {{first_name}} are errors, not warnings
};

struct GiftRequestBody {
  GiftId gift;
  std::optional<std::string> utm_campaign_id;  ///< endpoint B only; trimmed, never empty
  /// At least one, in the body's order. Addresses are as sent, trimmed, and valid by email_error;
  /// names are trimmed and may be empty; messages are as sent, with their own line ends, and never blank.
  std::vector<store::NewRecipient> recipients;
  /// The recognised fields as one text. Two texts are equal exactly when the bodies ask for the same,
  /// regardless of notation (7 or "7", null or absent, order of members, unknown members). Used to compare
  /// requests with the same Idempotency-Key.
  std::string canonical;
  /// Unknown members, placeholders, duplicate addresses; at most kMaxWarnings of json_object_reader.h, the
  /// last of which then says how many more there are.
  http::FieldIssues warnings;
};

/// The body as a value, or its errors.
///
/// A member that is null counts as absent; `gift_id` may be a text of digits (HTTP-4). On endpoint A each
/// recipient needs `gift_redeem_type` = "email" (HTTP-3). On B that member, and on A `utm_campaign_id`, is
/// ignored with a warning, like any unknown member.
tl::expected<GiftRequestBody, http::BodyError> parse_gift_request_body(std::string_view body, SendMode mode,
                                                                       const GiftRequestLimits& limits);

/// The request of the CRM's sending interface (HTTP-8): the body of endpoint A and the sender.
struct CrmGiftRequestBody {
  GiftRequestBody gift;  ///< its canonical text includes the sender
  std::string user_id;   ///< of the CRM user; one of the two is empty
  std::string email;     ///< of the CRM user, trimmed
};

/// The same with `sender`: {"user_id": ...} or {"email": ...}.
tl::expected<CrmGiftRequestBody, http::BodyError> parse_crm_gift_request_body(
    std::string_view body, const GiftRequestLimits& limits);

// Finds unfilled merge fields in a text that is about to be sent (HTTP-24).

/// The first placeholder that a merge tool left unfilled, as written in the text; nullopt when there is none.
///
/// Unambiguous delimiters always count: {{first_name}}, {%if x%}, ${name}, @{name}, {!Contact.FirstName},
/// <%=name%>, %%name%%, *|FNAME|*, [[name]]. Brackets that people also write (<NAME>, [First Name], {name},
/// %NAME%, guillemets) count only around UPPER_CASE_WORDS or a usual field name, so that "<3", "[sic]" and
/// "100%" do not. Linear in the text's length.
std::optional<std::string_view> find_placeholder(std::string_view text);

// The bodies of the API's successful responses (HTTP-1, HTTP-2, HTTP-7). Pure.
//
// `warnings` is a JSON array from warnings_json(). It is stored with the request and returned unchanged when
// the response is replayed under its Idempotency-Key.

/// The "message" of endpoints A and B (HTTP-2).
inline constexpr std::string_view kCreatedMessage = "GiftRequest created successfully.";

struct RecipientResponse {
  TransactionId id;
  std::string email;
  std::string redemption_url;  ///< endpoint B only
  std::string donation_url;    ///< endpoint B only
};

/// The response to a created request: {message, data: {id, recipients: [...]}, warnings}; endpoint B's has
/// gift_redemption_url and gift_donation_url in each recipient. No phone number is taken, so it is empty.
std::string created_gift_request_json(SendMode mode, GiftRequestId id,
                                      const std::vector<RecipientResponse>& recipients,
                                      std::string_view warnings);

/// The response of GET: {data: {id, gift_id, created_at, utm_campaign_id, delivery, recipients: [...]}};
/// times are RFC 3339 in UTC or null.
std::string gift_request_state_json(const store::GiftRequest& request,
                                    const std::vector<store::RecipientTransaction>& recipients);

/// Warnings as the text of a JSON array; "[]" when there are none.
std::string warnings_json(const http::FieldIssues& warnings);

}  // namespace giftsync::handlers
