// sync: the gift request that one caller asks for, built from its parts. Endpoints A and B, the CRM's sending
// interface and request records all use it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/store/account/accounts.h"
#include "schema/store/gift/catalogue.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::sync {

struct GiftToSend {
  const store::Account& sender;
  const store::GiftItem& item;  ///< stored as a snapshot: later edits of the catalogue do not change it
  SendMode mode = SendMode::email;
  std::vector<store::NewRecipient> recipients;
  std::string triggered_by = {};       ///< CRM user id; empty: the sender
  std::string credential_prefix = {};  ///< of the API key or organization token; empty: a request record
  std::string http_request_id = {};    ///< the Request-Id of the call; empty: a request record
  std::optional<std::string> utm_campaign_id = std::nullopt;
  std::string warnings = "[]";  ///< JSON array, returned with a replay
  std::optional<store::IdempotencyKey> idempotency = std::nullopt;
  std::optional<store::RequestRecordLink> request_record = std::nullopt;
};

store::NewGiftRequest new_gift_request(GiftToSend gift, UtcMillis now);

}  // namespace giftsync::sync
