// daemon/http: the bodies of the API's successful answers (Spec 2.3, 2.4, 4.1, 4.2; design 3.4). Pure.
//
// `warnings` is a JSON array as warnings_json() makes it: it is stored with the request and goes out again,
// unchanged, when the answer is repeated under its Idempotency-Key.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/field_note.h"
#include "schema/ids.h"
#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::daemon {

/// What endpoints A and B say in "message" (Spec 4.2).
inline constexpr std::string_view kCreatedMessage = "GiftRequest created successfully.";

struct RecipientAnswer {
  schema::TransactionId id;
  std::string email;
  std::string phone_number;    ///< empty when none was given
  std::string redemption_url;  ///< endpoint B only
  std::string donation_url;    ///< endpoint B only
};

/// Endpoint A's answer to a created request: {message, data: {id, recipients: [...]}, warnings}.
std::string gift_request_mailed_body(schema::GiftRequestId id, const std::vector<RecipientAnswer>& recipients,
                                     std::string_view warnings);

/// Endpoint B's: the same with gift_redemption_url and gift_donation_url in each recipient.
std::string gift_request_urls_body(schema::GiftRequestId id, const std::vector<RecipientAnswer>& recipients,
                                   std::string_view warnings);

/// A recipient transaction as it stands now.
struct RecipientState {
  schema::TransactionId id;
  std::string email;
  std::string phone_number;
  schema::Status status = schema::Status::sent;
  /// When each status was reached, at the index of its enum value; nullopt: not, or not known.
  std::array<std::optional<schema::UtcMillis>, schema::kAllStatuses.size()> times;
};

struct GiftRequestState {
  schema::GiftRequestId id;
  schema::GiftId gift;
  schema::UtcMillis created_at;
  std::optional<std::string> utm_campaign_id;
  schema::SendMode mode = schema::SendMode::email;  ///< "delivery" in the answer
  std::vector<RecipientState> recipients;
};

/// GET's answer: {data: {id, gift_id, created_at, utm_campaign_id, delivery, recipients: [...]}}; times are
/// RFC 3339 in UTC or null.
std::string gift_request_state_body(const GiftRequestState& request);

/// Warnings as one JSON array text, "[]" when there are none.
std::string warnings_json(const FieldNotes& warnings);

}  // namespace giftsync::daemon
