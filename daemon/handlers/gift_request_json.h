// daemon/handlers: the JSON of the answers to gift requests (HTTP-1, HTTP-2), and the id in their paths.
// Pure. Their bodies are read by daemon/validation/gift_request_body.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/problem.h"
#include "daemon/validation/gift_request_body.h"
#include "daemon/validation/gift_request_verdict.h"
#include "platform/json.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::handlers {

using validation::CrmGiftRequestBody;
using validation::GiftRequestBody;
using validation::GiftRequestLimits;
using validation::parse_crm_gift_request_body;
using validation::parse_gift_request_body;
using validation::reasons_json;

/// An id as the answers have it: not below 1, without leading zeros.
std::optional<GiftRequestId> parse_gift_request_id(std::string_view text);

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
/// times are RFC 3339 in UTC or null. `urls`: of all recipients, or none. `dry_records`: of test
/// gifts, what the CRM would have as their record, as JSON (TEST-3).
std::string gift_request_state_json(const store::GiftRequest& request,
                                    const std::vector<store::RecipientTransaction>& recipients,
                                    const std::vector<RecipientResponse>& urls = {},
                                    const std::map<TransactionId, std::string>& dry_records = {});
/// The same of one that waits, or was not sent: `recipients` is empty, `requested_recipients` are those that
/// the caller gave (GUARD-25).
std::string held_gift_request_state_json(const store::HeldGiftRequest& held);
/// The response to a request that is held (GUARD-25): {message, data: {id, state, expires_at, reasons},
/// warnings}.
std::string held_gift_request_json(const store::HeldGiftRequest& held, std::string_view warnings);

// What the lists and `GET /gifts/ID` show (API-1, API-5).

/// "501-4-1": the gift's id, its version and how many mails it had (API-8).
std::string gift_tag(TransactionId id, std::int64_t version, std::int64_t mails);
/// One gift with its request.
Json gift_json(const store::Gift& gift, const std::string& currency);
/// A gift request without its recipients; `gifts`: how many it has.
Json listed_request_json(const store::GiftRequest& request, std::int64_t gifts);
/// Null for an empty text.
Json text_json(const std::string& text);
Json time_json(const std::optional<UtcMillis>& time);

/// Warnings as the text of a JSON array; "[]" when there are none.
std::string warnings_json(const http::FieldIssues& warnings);

}  // namespace giftsync::handlers
