#include "sync/status/event_classification.h"

#include <fmt/format.h>

#include <cmath>

#include "platform/text.h"
#include "platform/time.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "schema/gift_record.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {

constexpr std::size_t kMaxCodePoints = 500;

/// One more than the gift record's field holds: the code that drafts the record cuts there and warns if there
/// was more.
std::size_t max_message_code_points() {
  return static_cast<std::size_t>(descriptor_of(GiftField::message).length) + 1;
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
  values_[static_cast<std::size_t>(field)] = truncated(giftsync::trimmed(text), max_code_points);
}

namespace {

using store::QuarantineReason;

constexpr std::size_t kMaxExternalIdChars = 255;
constexpr std::string_view kTimeFormats = "ISO 8601 with a zone, or seconds or milliseconds since 1970";

/// A whole number from 1 to kMaxId.
std::optional<std::int64_t> parse_id(const std::string& text) {
  const auto number = giftsync::parse_number<std::int64_t>(text);
  return number && *number >= 1 && *number <= kMaxId ? number : std::nullopt;
}

std::string found(const std::string& text, std::string_view allowed) {
  return "found " + (text.empty() ? "nothing" : in_quotes(text)) + "; allowed: " + std::string(allowed);
}

void quarantine(ClassifiedEvent& result, QuarantineReason reason, const std::string& detail) {
  result.item.quarantined = true;
  result.item.event.reason = reason;
  std::string& all = result.item.event.detail;
  all += (all.empty() ? "" : "; ") + detail;
}

void mark_faulty(ClassifiedEvent& result, EventField field, const std::string& fault) {
  result.faulty_fields.insert(field);
  quarantine(result, QuarantineReason::malformed, std::string(key_of(field)) + ": " + fault);
}

/// Nullopt is a fault. 0: an id that is allotted later.
std::optional<std::int64_t> parse_transaction_id(const InboundEvent& event, const EventRules& rules,
                                                 ClassifiedEvent& result) {
  const std::string& text = event[EventField::transaction_id];
  if (rules.allots_ids) {
    const std::size_t length = count_code_points(text);
    if (length > 0 && length <= kMaxExternalIdChars) return 0;
    mark_faulty(result, EventField::transaction_id,
                found(text, fmt::format("a text of 1 to {} characters", kMaxExternalIdChars)));
    return std::nullopt;
  }
  const auto id = parse_id(text);
  if (id) return id;
  std::string allowed = fmt::format("a whole number from 1 to {}", kMaxId);
  if (!rules.gift_source.empty() && !text.empty())
    allowed += "; for ids of other kinds set transaction_ids: allot for this source";
  mark_faulty(result, EventField::transaction_id, found(text, allowed));
  return std::nullopt;
}

std::optional<UtcMillis> parse_time(const InboundEvent& event, EventField field, ClassifiedEvent& result) {
  const auto time = parse_event_time(event[field]);
  if (!time) mark_faulty(result, field, found(event[field], kTimeFormats));
  return time;
}

/// The sending time of an external gift, as stated or by its change.
std::optional<UtcMillis> parse_sent_at(const InboundEvent& event, const store::StatusChange& change,
                                       ClassifiedEvent& result) {
  const std::string& text = event[EventField::sent_at];
  if (text.empty()) return change.status == Status::sent ? std::optional(change.occurred_at) : std::nullopt;
  const auto sent_at = parse_time(event, EventField::sent_at, result);
  if (const std::string fault = sent_at ? time_error(*sent_at, change.received_at) : ""; !fault.empty())
    mark_faulty(result, EventField::sent_at,
                in_quotes(text) + " " + fault + "; allowed: a time from 2000 to 24 hours ahead");
  return sent_at;
}

std::string parse_email(const InboundEvent& event, EventField field, ClassifiedEvent& result) {
  const std::string& text = event[field];
  if (const auto fault = text.empty() ? std::nullopt : email_error(text)) mark_faulty(result, field, *fault);
  return text;
}

void parse_cost(const InboundEvent& event, EventField field, std::optional<Money>& cost,
                ClassifiedEvent& result) {
  const std::string& text = event[field];
  if (text.empty()) return;
  const auto money = from_decimal(text);
  if (money && money->minor_units >= 0)
    cost = *money;
  else
    mark_faulty(result, field, found(text, "an amount with at most two decimals such as 5.50"));
}

/// Name and costs come from the catalogue where the event lacks them (SRC-19).
void add_item(const InboundEvent& event, const FindItem& find_item, store::ExternalGift& gift,
              ClassifiedEvent& result) {
  if (const std::string& text = event[EventField::gift_id]; !text.empty()) {
    const auto id = parse_id(text);
    if (!id) return mark_faulty(result, EventField::gift_id, found(text, "a whole number"));
    gift.gift = {*id};
    if (const auto item = find_item(gift.gift)) {
      gift.item_name = item->name;
      gift.item_description = item->description;
      gift.costs = item->costs;
    }
  }
  parse_cost(event, EventField::item_cost, gift.costs.item, result);
  parse_cost(event, EventField::shipping_cost, gift.costs.shipping, result);
  parse_cost(event, EventField::carbon_neutral_cost, gift.costs.carbon_neutral, result);
  parse_cost(event, EventField::transaction_fee, gift.costs.transaction_fee, result);
}

bool has_recipient(const InboundEvent& event) {
  return !event[EventField::recipient_email].empty() || !event[EventField::recipient_phone].empty();
}

/// The sending time of an external gift is a fact of its own, independent of the event's status. A gift needs
/// its id, the recipient's address or phone number, and its sending time (SRC-18).
void add_external_gift(const InboundEvent& event, const EventRules& rules, const FindItem& find_item,
                       ClassifiedEvent& result) {
  const store::StatusChange& change = *result.item.change;
  const auto sent_at = parse_sent_at(event, change, result);
  if (!sent_at) return;
  if (change.status != Status::sent || change.occurred_at != *sent_at) {
    store::StatusChange& sent = result.item.sent.emplace(change);
    sent.status = Status::sent;
    sent.occurred_at = *sent_at;
    sent.event_ids.clear();
  }
  if (!has_recipient(event)) return;
  store::ExternalGift& gift = result.item.gift.emplace();
  gift.id = change.transaction;
  if (rules.allots_ids) gift.external_id = event[EventField::transaction_id];
  gift.sent_at = *sent_at;
  gift.email = parse_email(event, EventField::recipient_email, result);
  gift.sender_email = parse_email(event, EventField::sender_email, result);
  gift.phone = event[EventField::recipient_phone];
  gift.first_name = event[EventField::first_name];
  gift.last_name = event[EventField::last_name];
  gift.message = event[EventField::message];
  add_item(event, find_item, gift, result);
}

/// States everything that was read from the event, so that a reading under other settings differs. Events
/// of mail providers mean the same under any settings.
std::string orphan_detail(const InboundEvent& event, const EventRules& rules,
                          const store::StatusChange& change) {
  if (rules.mapping_fingerprint.empty()) return {};
  const std::string& sent_at = event[EventField::sent_at];
  const std::string gift = rules.allots_ids ? in_quotes(event[EventField::transaction_id])
                                            : std::to_string(change.transaction.value);
  const std::string what =
      std::string(to_word(change.status)) + " of gift " + gift + " at " + to_rfc3339(change.occurred_at) +
      (sent_at.empty() ? "" : ", sent at " + in_quotes(sent_at)) + ": there is no such gift";
  if (rules.gift_source.empty())
    return what + " of giftsync's own; if the source's gifts are sent elsewhere, set transactions: external";
  std::string missing;
  if (!has_recipient(event)) missing = "no recipient (fields.recipient_email, fields.recipient_phone)";
  if (sent_at.empty() && change.status != Status::sent)
    missing += std::string(missing.empty() ? "" : " and ") + "no sending time (fields.sent_at)";
  return what + ", and this event cannot create it: it has " + missing;
}

/// `change` is allowed by the rules.
void apply_change(const InboundEvent& event, const EventRules& rules, const FindItem& find_item,
                  store::StatusChange change, ClassifiedEvent& result) {
  result.item.change = std::move(change);
  if (!rules.gift_source.empty()) add_external_gift(event, rules, find_item, result);
  if (result.item.quarantined) {
    result.item.change.reset();
    result.item.sent.reset();
    result.item.gift.reset();
  } else if (!result.item.gift) {
    result.item.orphan_detail = orphan_detail(event, rules, *result.item.change);
  }
}

/// Who called a mail of giftsync unwanted gets no more gifts (GUARD-4): the address that the provider names,
/// also when the gift has another one by now.
void add_complaint(const InboundEvent& event, const EventRules& rules, ClassifiedEvent& result) {
  const std::string& email = event[EventField::recipient_email];
  const bool is_of_provider = rules.mapping_fingerprint.empty();
  if (!rules.lists_complaints || !is_of_provider || event[EventField::status] != kComplaintStatus ||
      email_error(email))
    return;
  store::DoNotSendEntry entry;
  entry.pattern = email_key(email);
  entry.reason = DoNotSendReason::complained;
  entry.added_by = rules.source;
  if (const auto id = parse_id(event[EventField::transaction_id])) entry.transaction = TransactionId{*id};
  result.do_not_send = std::move(entry);
}

/// GUARD-22; whatever becomes of the event.
void add_bounce(const InboundEvent& event, const EventRules& rules, UtcMillis received_at,
                ClassifiedEvent& result) {
  if (!rules.bounce_days || event.bounced_address.empty() || email_error(event.bounced_address)) return;
  store::DoNotSendEntry entry;
  entry.pattern = email_key(event.bounced_address);
  entry.reason = DoNotSendReason::bounced;
  entry.added_by = rules.source;
  entry.expires_at = received_at + *rules.bounce_days * kDayMillis;
  if (const auto id = parse_id(event.bounced_gift)) entry.transaction = TransactionId{*id};
  result.do_not_send = std::move(entry);
}

void classify_fields(const InboundEvent& event, const EventRules& rules, UtcMillis received_at,
                     const FindItem& find_item, ClassifiedEvent& result) {
  const std::string& status_word = event[EventField::status];
  const auto mapped = rules.status_map.find(status_word);
  const bool is_mapped = mapped != rules.status_map.end();
  if (is_mapped && !mapped->second) {
    add_complaint(event, rules, result);
    ignore(result, "status " + in_quotes(status_word) +
                       (rules.mapping_fingerprint.empty() ? " is ignored" : " is mapped to ignore"));
    return;
  }
  const auto id = parse_transaction_id(event, rules, result);
  const auto time = parse_time(event, EventField::occurred_at, result);
  if (status_word.empty()) mark_faulty(result, EventField::status, "found nothing");
  result.unreadable = result.item.quarantined;
  if (result.unreadable) return;
  const std::string fault = time_error(*time, received_at);
  if (!is_mapped) {
    quarantine(result, QuarantineReason::unknown_status,
               "the status map has no status " + in_quotes(status_word));
  } else if (!fault.empty()) {
    quarantine(result, QuarantineReason::implausible_time, to_rfc3339(*time) + " " + fault);
  } else if (!rules.may_set.contains(*mapped->second)) {
    quarantine(result, QuarantineReason::may_set,
               rules.source + " may not set " + std::string(to_word(*mapped->second)));
  } else {
    store::StatusChange change{{}, rules.source, {*id}, *mapped->second, *time, received_at, {}};
    change.gift_source = rules.gift_source;
    if (!event[EventField::event_id].empty()) change.event_ids = {event[EventField::event_id]};
    apply_change(event, rules, find_item, std::move(change), result);
  }
}

}  // namespace

void ignore(ClassifiedEvent& result, std::string why) {
  result.ignored = true;
  result.item.event.state = store::EventState::ignored;
  result.item.event.detail = std::move(why);
}

ClassifiedEvent classify_event(const InboundEvent& event, KeptEvent kept, const EventRules& rules,
                               UtcMillis received_at, const FindItem& find_item) {
  ClassifiedEvent result;
  if (event.unread_reason.empty()) {
    add_bounce(event, rules, received_at, result);
    classify_fields(event, rules, received_at, find_item, result);
  } else {
    quarantine(result, QuarantineReason::malformed, "no field was read: " + event.unread_reason);
    result.unreadable = true;
  }
  store::UnappliedEvent& entry = result.item.event;
  entry.source = rules.source;
  entry.status_word = event[EventField::status];
  entry.transaction = event[EventField::transaction_id];
  entry.received_at = received_at;
  entry.payload = std::move(kept.text);
  // The fields of an unreadable event do not distinguish it from others. Of any other event only the fields
  // count, since the vendor's text may have members that change with every response, such as an age.
  entry.digest = std::move(result.unreadable ? kept.whole_digest : kept.digest);
  if (!kept.omission.empty()) {
    // Also an applicable event may turn out to be of a foreign record or orphaned; then it is kept.
    entry.detail += "; " + kept.omission;
    if (!result.item.orphan_detail.empty()) result.item.orphan_detail += "; " + kept.omission;
  }
  return result;
}

std::optional<UtcMillis> parse_event_time(std::string_view text) {
  if (const auto time = from_rfc3339(text)) return time;
  constexpr double kMaxSeconds = 99'999'999'999.0;  // the year 5138; as milliseconds 1973
  constexpr double kMaxMillis = 253'402'300'799'999.0;
  const auto number = giftsync::parse_number<double>(text);
  if (!number) return from_iso8601(text);
  if (!std::isfinite(*number) || *number < 0 || *number > kMaxMillis) return std::nullopt;
  return UtcMillis{std::llround(*number <= kMaxSeconds ? *number * 1000 : *number)};
}

}  // namespace giftsync::sync
