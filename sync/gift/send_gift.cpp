#include "sync/gift/send_gift.h"

#include <utility>

namespace giftsync::sync {

store::NewGiftRequest new_gift_request(GiftToSend gift, UtcMillis now) {
  store::NewGiftRequest created;
  store::GiftRequest& request = created.request;
  request.account = gift.sender.id;
  request.mode = gift.mode;
  request.gift = gift.item.id;
  request.item_name = gift.item.name;
  request.item_description = gift.item.description;
  request.costs = gift.item.costs;
  request.sender_email = gift.sender.email;
  request.sender_name = gift.sender.name;
  request.utm_campaign_id = std::move(gift.utm_campaign_id);
  request.triggered_by = std::move(gift.triggered_by);
  request.created_at = now;
  request.credential_prefix = std::move(gift.credential_prefix);
  request.http_request_id = std::move(gift.http_request_id);
  created.recipients = std::move(gift.recipients);
  created.warnings = std::move(gift.warnings);
  created.idempotency = std::move(gift.idempotency);
  created.request_record = std::move(gift.request_record);
  return created;
}

}  // namespace giftsync::sync
