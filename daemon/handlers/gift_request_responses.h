// daemon/handlers: the bodies of the API's successful responses (HTTP-1, HTTP-2, HTTP-7). Pure.
//
// `warnings` is a JSON array from warnings_json(). It is stored with the request and returned unchanged when
// the response is replayed under its Idempotency-Key.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/field_issue.h"
#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"

namespace giftsync::daemon::handlers {

/// The "message" of endpoints A and B (HTTP-2).
inline constexpr std::string_view kCreatedMessage = "GiftRequest created successfully.";

struct RecipientResponse {
  schema::TransactionId id;
  std::string email;
  std::string phone_number;    ///< empty when none was given
  std::string redemption_url;  ///< endpoint B only
  std::string donation_url;    ///< endpoint B only
};

/// Endpoint A's response to a created request: {message, data: {id, recipients: [...]}, warnings}.
std::string mailed_gift_request_json(schema::GiftRequestId id,
                                     const std::vector<RecipientResponse>& recipients,
                                     std::string_view warnings);

/// Endpoint B's: the same with gift_redemption_url and gift_donation_url in each recipient.
std::string url_gift_request_json(schema::GiftRequestId id, const std::vector<RecipientResponse>& recipients,
                                  std::string_view warnings);

/// The current state of a recipient transaction.
struct RecipientState {
  schema::TransactionId id;
  std::string email;
  std::string phone_number;
  schema::Status status = schema::Status::sent;
  /// When each status was reached, indexed by its enum value; nullopt: not reached, or not known.
  std::array<std::optional<platform::UtcMillis>, schema::kAllStatuses.size()> times;
};

struct GiftRequestState {
  schema::GiftRequestId id;
  schema::GiftId gift;
  platform::UtcMillis created_at;
  std::optional<std::string> utm_campaign_id;
  schema::SendMode mode = schema::SendMode::email;  ///< "delivery" in the response
  std::vector<RecipientState> recipients;
};

/// The response of GET: {data: {id, gift_id, created_at, utm_campaign_id, delivery, recipients: [...]}};
/// times are RFC 3339 in UTC or null.
std::string gift_request_state_json(const GiftRequestState& request);

/// Warnings as the text of a JSON array; "[]" when there are none.
std::string warnings_json(const http::FieldIssues& warnings);

}  // namespace giftsync::daemon::handlers
