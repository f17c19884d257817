#include "sync/inbound_event.h"

#include "platform/text.h"
#include "schema/gift_record.h"

namespace giftsync::sync {
namespace {

constexpr std::size_t kMaxCodePoints = 500;

/// One more than the gift record's field holds: the code that drafts the record cuts there and warns if there
/// was more.
std::size_t max_message_code_points() {
  return static_cast<std::size_t>(schema::descriptor_of(schema::GiftField::message).length) + 1;
}

constexpr auto kKeys = std::to_array<std::string_view>(
    {"transaction_id", "status", "occurred_at", "event_id", "recipient_email", "recipient_phone",
     "first_name", "last_name", "sender_email", "gift_id", "message", "sent_at", "costs.item",
     "costs.shipping", "costs.carbon_neutral", "costs.transaction_fee"});
static_assert(kKeys.size() == kEventFields.size());

}  // namespace

std::string_view key_of(EventField field) {
  return kKeys[static_cast<std::size_t>(field)];
}

void InboundEvent::set(EventField field, std::string_view text) {
  const std::size_t max_code_points =
      field == EventField::message ? max_message_code_points() : kMaxCodePoints;
  values_[static_cast<std::size_t>(field)] = platform::truncated(platform::trimmed(text), max_code_points);
}

}  // namespace giftsync::sync
