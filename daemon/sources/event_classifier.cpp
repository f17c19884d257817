#include "daemon/sources/event_classifier.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "platform/digest.h"
#include "platform/quoted_text.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "sync/status_rules.h"

namespace giftsync::daemon::sources {
namespace {

/// Limit of a quarantined event, since a source may have 100,000 of them. Only a message or the vendor's JSON
/// can exceed it; the shortened event is classified the same way (SRC-8).
constexpr std::size_t kMaxQuarantinedBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxQuarantinedMessageCodePoints = 4'000;  // code points

constexpr std::string_view kTimeFormats = "RFC 3339 with a zone, or seconds or milliseconds since 1970";

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

class EventClassifier {
 public:
  EventClassifier(const InboundEvent& event, const CompiledSource& source, platform::UtcMillis received_at,
                  const FindItem& find_item)
      : event_(event), source_(source), received_at_(received_at), find_item_(find_item) {}

  ClassifiedEvent run() {
    classify_status();
    // An applicable event may still turn out to be of a foreign record or orphaned; then it is kept.
    const schema::store::InboundItem& item = result_.item;
    if (item.quarantined || event_.is_payload_too_long || item.event.payload.size() > kMaxQuarantinedBytes)
      shorten_kept_payload();
    return std::move(result_);
  }

 private:
  void classify_status() {
    fill_quarantine_entry();
    if (!event_.unread_reason.empty()) {
      quarantine(schema::store::QuarantineReason::malformed, "no field was read: " + event_.unread_reason);
      return mark_unreadable();
    }
    const std::string& status_word = event_[EventField::status];
    const auto mapped = source_.status_map.find(status_word);
    if (mapped != source_.status_map.end() && !mapped->second) {
      result_.ignored = true;
      return;
    }
    const auto transaction = parse_transaction_id();
    const auto time = parse_occurred_at();
    if (status_word.empty()) mark_faulty(EventField::status, "status: found nothing");
    if (result_.item.quarantined) return mark_unreadable();
    if (mapped == source_.status_map.end()) {
      quarantine(schema::store::QuarantineReason::unknown_status,
                 "the status map has no status " + platform::in_quotes(status_word));
    } else if (const std::string fault = sync::time_error(*time, received_at_); !fault.empty()) {
      quarantine(schema::store::QuarantineReason::implausible_time,
                 platform::to_rfc3339(*time) + " " + fault);
    } else if (!source_.may_set.contains(*mapped->second)) {
      quarantine(schema::store::QuarantineReason::may_set,
                 fmt::format("{} may not set {}", source_.settings.name, to_word(*mapped->second)));
    } else {
      build_change(*transaction, *mapped->second, *time);
    }
  }

  void mark_unreadable() {
    result_.unreadable = true;
    // Its fields do not distinguish it from others.
    result_.item.event.digest = sha256_hex(result_.item.event.payload);
  }

  void fill_quarantine_entry() {
    schema::store::QuarantinedEvent& entry = result_.item.event;
    entry.source = source_.settings.name;
    entry.status_word = event_[EventField::status];
    entry.transaction = event_[EventField::transaction_id];
    entry.payload = serialize(event_);
    // The vendor's JSON may have members that change with every response, such as an age, so only the fields
    // count.
    entry.digest = sha256_hex(serialize_fields(event_));
    entry.received_at = received_at_;
  }

  static std::string sha256_hex(const std::string& text) { return platform::to_hex(platform::sha256(text)); }

  void quarantine(schema::store::QuarantineReason reason, const std::string& detail) {
    result_.item.quarantined = true;
    result_.item.event.reason = reason;
    std::string& all = result_.item.event.detail;
    all += (all.empty() ? "" : "; ") + detail;
  }
  void mark_faulty(EventField field, const std::string& detail) {
    result_.faulty_fields.insert(field);
    quarantine(schema::store::QuarantineReason::malformed, detail);
  }

  void shorten_kept_payload() {
    schema::store::QuarantinedEvent& entry = result_.item.event;
    InboundEvent shortened = event_;
    if (entry.payload.size() > kMaxQuarantinedBytes && !shortened.payload.empty()) {
      shortened.payload.clear();
      shortened.is_payload_too_long = true;
      entry.payload = serialize(shortened);
    }
    if (shortened.is_payload_too_long)
      add_detail(
          "it is too long to be kept whole, so pointers that are corrected later cannot be applied to it");
    if (entry.payload.size() > kMaxQuarantinedBytes) {
      shortened.set(EventField::message,
                    platform::truncated(event_[EventField::message], kMaxQuarantinedMessageCodePoints));
      entry.payload = serialize(shortened);
    }
    // Also for an event that was shortened before and is classified again.
    const std::string& message = shortened[EventField::message];
    if (shortened.is_payload_too_long &&
        platform::count_code_points(message) == kMaxQuarantinedMessageCodePoints)
      add_detail(fmt::format("its message is kept up to {} characters", kMaxQuarantinedMessageCodePoints));
  }

  /// For both ways in which it may be stored.
  void add_detail(const std::string& what) {
    result_.item.event.detail += "; " + what;
    if (!result_.item.orphan_detail.empty()) result_.item.orphan_detail += "; " + what;
  }

  static std::string quote_value(const std::string& text) {
    return text.empty() ? "nothing" : platform::in_quotes(text);
  }

  std::optional<schema::TransactionId> parse_transaction_id() {
    const std::string& text = event_[EventField::transaction_id];
    const auto id = parse_integer(text);
    if (id && *id >= 1 && *id <= schema::kMaxId) return schema::TransactionId{*id};
    mark_faulty(EventField::transaction_id,
                fmt::format("transaction_id: found {}; allowed: a whole number from 1 to {}",
                            quote_value(text), schema::kMaxId));
    return std::nullopt;
  }

  std::optional<platform::UtcMillis> parse_occurred_at() {
    const std::string& text = event_[EventField::occurred_at];
    const auto time = parse_event_time(text);
    if (!time)
      mark_faulty(EventField::occurred_at,
                  fmt::format("occurred_at: found {}; allowed: {}", quote_value(text), kTimeFormats));
    return time;
  }

  void build_change(schema::TransactionId transaction, schema::Status status, platform::UtcMillis time) {
    schema::store::StatusChange change;
    change.source = source_.settings.name;
    change.gift_source = source_.gift_source;
    change.transaction = transaction;
    change.status = status;
    change.occurred_at = time;
    change.received_at = received_at_;
    if (!event_[EventField::event_id].empty()) change.event_ids = {event_[EventField::event_id]};
    result_.item.change = std::move(change);
    if (!source_.gift_source.empty()) apply_sent_time();
    if (result_.item.quarantined) {
      result_.item.change.reset();
      result_.item.sent.reset();
      result_.item.gift.reset();
    } else if (!result_.item.gift) {
      result_.item.orphan_detail = orphan_detail(*result_.item.change);
    }
  }

  /// States everything that was read from the event, so that a reading under other settings differs. Events
  /// of mail providers mean the same under any settings.
  std::string orphan_detail(const schema::store::StatusChange& change) const {
    if (source_.settings.preset != config::SourcePreset::none) return {};
    const std::string& sent_at = event_[EventField::sent_at];
    const std::string what =
        fmt::format("{} of gift {} at {}{}: there is no such gift", to_word(change.status),
                    change.transaction.value, platform::to_rfc3339(change.occurred_at),
                    sent_at.empty() ? "" : ", sent at " + platform::in_quotes(sent_at));
    if (source_.gift_source.empty())
      return what +
             " of giftsync's own; if the source's gifts are sent elsewhere, set transactions: external";
    std::string missing;
    if (event_[EventField::recipient_email].empty() && event_[EventField::recipient_phone].empty())
      missing = "no recipient (fields.recipient_email, fields.recipient_phone)";
    if (event_[EventField::sent_at].empty() && change.status != schema::Status::sent)
      missing += fmt::format("{}no sending time (fields.sent_at)", missing.empty() ? "" : " and ");
    return what + ", and this event cannot create it: it has " + missing;
  }

  /// The sending time of an external gift is a fact of its own, independent of the event's status.
  void apply_sent_time() {
    const schema::store::StatusChange& change = *result_.item.change;
    const auto sent_at = parse_sent_at(change);
    if (!sent_at) return;
    if (change.status != schema::Status::sent || change.occurred_at != *sent_at) {
      schema::store::StatusChange& sent = result_.item.sent.emplace(change);
      sent.status = schema::Status::sent;
      sent.occurred_at = *sent_at;
      sent.event_ids.clear();
    }
    build_gift(change.transaction, *sent_at);
  }

  std::optional<platform::UtcMillis> parse_sent_at(const schema::store::StatusChange& change) {
    const std::string& text = event_[EventField::sent_at];
    if (text.empty())
      return change.status == schema::Status::sent ? std::optional(change.occurred_at) : std::nullopt;
    const auto sent_at = parse_event_time(text);
    const std::string fault = sent_at ? sync::time_error(*sent_at, received_at_) : "";
    if (!sent_at)
      mark_faulty(EventField::sent_at,
                  fmt::format("sent_at: found {}; allowed: {}", platform::in_quotes(text), kTimeFormats));
    else if (!fault.empty())
      mark_faulty(EventField::sent_at,
                  fmt::format("sent_at: {} {}; allowed: a time from 2000 to 24 hours ahead",
                              platform::in_quotes(text), fault));
    return sent_at;
  }

  /// A gift needs its id, the recipient's address or phone number, and its sending time (SRC-18).
  void build_gift(schema::TransactionId transaction, platform::UtcMillis sent_at) {
    const std::string& email = event_[EventField::recipient_email];
    const std::string& phone = event_[EventField::recipient_phone];
    if (email.empty() && phone.empty()) return;
    schema::store::ExternalGift gift;
    gift.id = transaction;
    gift.sent_at = sent_at;
    gift.email = parse_email(EventField::recipient_email, "recipient_email");
    gift.sender_email = parse_email(EventField::sender_email, "sender_email");
    gift.phone = phone;
    gift.first_name = event_[EventField::first_name];
    gift.last_name = event_[EventField::last_name];
    gift.message = event_[EventField::message];
    apply_catalogue_item(gift);
    result_.item.gift = std::move(gift);
  }

  std::string parse_email(EventField field, std::string_view name) {
    const std::string& text = event_[field];
    if (text.empty()) return {};
    if (const auto fault = schema::email_error(text)) mark_faulty(field, fmt::format("{}: {}", name, *fault));
    return text;
  }

  /// Name and costs come from the catalogue where the event lacks them (SRC-19).
  void apply_catalogue_item(schema::store::ExternalGift& gift) {
    if (const std::string& text = event_[EventField::gift_id]; !text.empty()) {
      const auto id = parse_integer(text);
      if (!id || *id < 1 || *id > schema::kMaxId) {
        mark_faulty(EventField::gift_id,
                    "gift_id: found " + platform::in_quotes(text) + "; allowed: a whole number");
        return;
      }
      gift.gift = {*id};
      if (const auto item = find_item_(gift.gift)) {
        gift.item_name = item->name;
        gift.item_description = item->description;
        gift.costs = item->costs;
      }
    }
    parse_cost(EventField::item_cost, "costs.item", gift.costs.item);
    parse_cost(EventField::shipping_cost, "costs.shipping", gift.costs.shipping);
    parse_cost(EventField::carbon_neutral_cost, "costs.carbon_neutral", gift.costs.carbon_neutral);
    parse_cost(EventField::transaction_fee, "costs.transaction_fee", gift.costs.transaction_fee);
  }

  void parse_cost(EventField field, std::string_view name, std::optional<schema::Money>& cost) {
    const std::string& text = event_[field];
    if (text.empty()) return;
    const auto money = schema::from_decimal(text);
    if (!money || money->minor_units < 0) {
      mark_faulty(field,
                  fmt::format("{}: found {}; allowed: an amount with at most two decimals such as 5.50", name,
                              platform::in_quotes(text)));
    } else {
      cost = *money;
    }
  }

  const InboundEvent& event_;
  const CompiledSource& source_;
  const platform::UtcMillis received_at_;
  const FindItem& find_item_;
  ClassifiedEvent result_;
};

}  // namespace

ClassifiedEvent classify(const InboundEvent& event, const CompiledSource& source,
                         platform::UtcMillis received_at, const FindItem& find_item) {
  return EventClassifier(event, source, received_at, find_item).run();
}

std::optional<platform::UtcMillis> parse_event_time(std::string_view text) {
  if (const auto time = platform::from_rfc3339(text)) return time;
  constexpr double kMaxSeconds = 99'999'999'999.0;  // the year 5138; as milliseconds 1973
  constexpr double kMaxMillis = 253'402'300'799'999.0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
  if (!is_number || number < 0 || number > kMaxMillis) return std::nullopt;
  return platform::UtcMillis{std::llround(number <= kMaxSeconds ? number * 1000 : number)};
}

}  // namespace giftsync::daemon::sources
