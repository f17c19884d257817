// sync: one event of a source as texts, before its status, id and time are interpreted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::sync {

enum class EventField {
  transaction_id,
  status,
  occurred_at,
  event_id,
  recipient_email,
  recipient_phone,
  first_name,
  last_name,
  sender_email,
  gift_id,
  message,
  sent_at,
  item_cost,
  shipping_cost,
  carbon_neutral_cost,
  transaction_fee
};
/// All of them, in this order.
inline constexpr std::array<EventField, 16> kEventFields = [] {
  std::array<EventField, 16> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<EventField>(i);
  return all;
}();
/// The field's key in the settings of a source, below `fields`: "sent_at", "costs.item".
std::string_view key_of(EventField field);

class InboundEvent {
 public:
  /// Empty: the event does not have it.
  const std::string& operator[](EventField field) const { return values_[static_cast<std::size_t>(field)]; }
  /// Texts are trimmed and cut: the message at the length of the CRM's field, all others after 500 code
  /// points.
  void set(EventField field, std::string_view text);

  /// The link generation of the mail that a mail provider reports on; a mail to a former address has an older
  /// one. It is not kept.
  std::optional<std::int64_t> generation = std::nullopt;

  /// The vendor's own text, to which other pointers can be applied later. Empty for events that are not read
  /// by pointers, and for events that are too long.
  std::string payload;
  bool is_payload_too_long = false;

  /// Why no field was read; empty: fields were read.
  std::string unread_reason;

  friend bool operator==(const InboundEvent&, const InboundEvent&) = default;

 private:
  std::array<std::string, kEventFields.size()> values_;
};

}  // namespace giftsync::sync
