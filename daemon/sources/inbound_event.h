// daemon/sources: one event of a source as texts, before its status, id and time are interpreted. The store
// keeps its text form for a quarantined event, so that it can be classified again later, also after a pointer
// was corrected.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::daemon::sources {

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
inline constexpr std::size_t kEventFieldCount = 16;

/// How much of an event's vendor JSON is kept with it. Usual events have less than a kilobyte; of a longer
/// one only the fields are kept (SRC-8).
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{32} << 10;

class InboundEvent {
 public:
  /// Empty: the event does not have it.
  const std::string& operator[](EventField field) const { return values_[static_cast<std::size_t>(field)]; }
  /// Texts are trimmed and cut: the message at the length of the CRM's field, all others after 500 code
  /// points.
  void set(EventField field, std::string_view text);

  /// The link generation of the mail that a mail provider reports on; a mail to a former address has an older
  /// one. Not part of the text form.
  std::optional<std::int64_t> generation = std::nullopt;

  /// The vendor's JSON, to which other pointers can be applied later. Empty for events that are not read by
  /// pointers, and for events that are too long.
  std::string payload;
  bool is_payload_too_long = false;

  /// Why no field was read; empty: fields were read.
  std::string unread_reason;

  friend bool operator==(const InboundEvent&, const InboundEvent&) = default;

 private:
  std::array<std::string, kEventFieldCount> values_;
};

/// A JSON object with the non-empty fields and the vendor's JSON; always the same for the same event.
std::string serialize(const InboundEvent& event);
/// The same without the vendor's JSON.
std::string serialize_fields(const InboundEvent& event);
/// Nullopt for a text that serialize() did not write.
std::optional<InboundEvent> parse_inbound_event(std::string_view text);

}  // namespace giftsync::daemon::sources
