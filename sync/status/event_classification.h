// sync: classifies one inbound event by the rules of its source: a status change, perhaps with the external
// gift that it creates; an event to ignore; or an event to quarantine, with the reason (SRC-4, SRC-5, SRC-6).
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "schema/store/event/sources.h"
#include "schema/store/gift/catalogue.h"

namespace giftsync::sync {

// One event of a source as texts, before its status, id and time are interpreted.

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

  /// The address that a mail provider calls bad (GUARD-22), and the gift whose mail or reminder it got. They
  /// are not kept.
  std::string bounced_address;
  std::string bounced_gift;

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

/// The status word of a mail provider's event that the recipient called the mail unwanted. It changes no
/// status of the gift.
inline constexpr std::string_view kComplaintStatus = "complained";

/// What a source's settings say about the meaning of its events.
struct EventRules {
  std::string source;       ///< its name
  std::string gift_source;  ///< gift_source of its transactions: empty for giftsync's own, otherwise `source`
  /// The source's ids are texts of its own, for which transaction ids are allotted (SRC-58).
  bool allots_ids = false;
  /// Nullopt: the status is ignored.
  std::map<std::string, std::optional<Status>, std::less<>> status_map;
  std::set<Status> may_set;
  /// Fingerprint of all settings that define an event's meaning; it changes with an edit of them (SRC-26).
  /// Empty for mail providers, since no setting changes the meaning of their events.
  std::string mapping_fingerprint;
  bool lists_complaints = true;  ///< on the do-not-send list (GUARD-23)
  std::optional<std::int64_t> bounce_days =
      {};  ///< for so long bad addresses are on it; absent: they are not
};

/// An event as it is kept while it is not applied.
struct KeptEvent {
  std::string text;          ///< from which the caller can read the event again
  std::string digest;        ///< equal for events with equal fields
  std::string whole_digest;  ///< equal for events that are equal with all that their fields do not show
  std::string omission;      ///< what the text lacks of the event; empty: nothing
};

struct ClassifiedEvent {
  bool ignored = false;
  bool unreadable = false;  ///< it has no usable transaction, status or time; it is quarantined as malformed
  std::set<EventField> faulty_fields;  ///< empty also for an event of which no field was read
  store::InboundItem item;
  std::optional<store::DoNotSendEntry> do_not_send = {};  ///< of a complaint or bounce (GUARD-4)
};

/// The event is ignored, for this reason.
void ignore(ClassifiedEvent& result, std::string why);

/// Finds the catalogue's item, for what an external event does not state itself.
using FindItem = std::function<std::optional<store::GiftItem>(GiftId)>;

/// With EventRules::allots_ids changes and gift have no transaction id yet; the event's own id is in
/// `item.event.transaction`.
ClassifiedEvent classify_event(const InboundEvent& event, KeptEvent kept, const EventRules& rules,
                               UtcMillis received_at, const FindItem& find_item);

/// Parses ISO 8601 with a zone, or seconds (up to ten digits, with an optional fraction) or milliseconds
/// since 1970.
std::optional<UtcMillis> parse_event_time(std::string_view text);

}  // namespace giftsync::sync
