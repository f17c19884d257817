#include "sync/crm/record_comparison.h"

#include <algorithm>
#include <array>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/ids.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {

/// The store computes only these fields of an adopted record; all others were read from the record.
bool is_status_field(GiftField field) {
  if (field == GiftField::status) return true;
  return descriptor_of(field).type == FieldType::date_time && field != GiftField::sent_at;
}

/// Fields of an adopted record that the store keeps too. When the record has another value now, the
/// difference is reported and the record is not changed.
bool is_reported_when_adopted(GiftField field) {
  return field == GiftField::sent_at || field == GiftField::total_price;
}

/// An Id has two forms, many CRMs store whole seconds, and e-mail addresses in lower case.
bool is_same(GiftField field, const FieldValue& in_crm, const FieldValue& wanted) {
  if (descriptor_of(field).type == FieldType::email)
    return email_key(text_of(in_crm)) == email_key(text_of(wanted));
  if (descriptor_of(field).type == FieldType::lookup &&
      long_crm_id(text_of(in_crm)) == long_crm_id(text_of(wanted)))
    return true;
  const auto* one = std::get_if<UtcMillis>(&in_crm);
  const auto* other = std::get_if<UtcMillis>(&wanted);
  if (!one || !other) return in_crm == wanted;
  const bool is_whole = one->value % kSecondMillis == 0;
  return *one == *other || (is_whole && are_within_a_second(*one, *other));
}

/// Whether the field holds this value, or what the CRM makes of it.
bool holds(const crm::GiftRecords& records, const GiftRecord& record, GiftField field,
           const FieldValue& wanted) {
  const FieldValue& in_crm = record.get(field);
  return is_same(field, in_crm, wanted) || is_same(field, in_crm, records.as_kept(field, wanted));
}

/// The text in the CRM that is not a value of the field.
const std::string* unreadable_text_of(const GiftRecord& record, GiftField field) {
  for (const UnreadableValue& cell : record.unreadable) {
    if (cell.field == field) return &cell.text;
  }
  return nullptr;
}

bool has_value(const GiftRecord& record, GiftField field) {
  return !std::holds_alternative<std::monostate>(record.get(field));
}

/// An unknown price may have been entered in the CRM by a user. A CRM gives each record an owner, and says
/// who created it.
bool keeps_crm_value(const GiftRecord& wanted, GiftField field) {
  return !has_value(wanted, field) &&
         (is_preserved_when_absent(field) || field == GiftField::owner || field == GiftField::created_by);
}

}  // namespace

std::string text_of(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* money = std::get_if<Money>(&value)) return to_decimal(*money);
  if (const auto* time = std::get_if<UtcMillis>(&value)) return to_rfc3339(*time);
  if (const auto* checked = std::get_if<bool>(&value)) return *checked ? "true" : "false";
  return "";
}

std::string text_in(const GiftRecord& record, GiftField field) {
  const std::string* unreadable = unreadable_text_of(record, field);
  return unreadable ? *unreadable : text_of(record.get(field));
}

std::string_view to_word(FieldVerdict verdict) {
  constexpr std::array<std::string_view, 8> kWords{"same",       "repaired",  "differs",    "of_crm",
                                                   "not_in_crm", "not_known", "of_adopted", "link_unknown"};
  return kWords[static_cast<std::size_t>(verdict)];
}

void accept_fallback_owner(const GiftRecord& record, const std::string& fallback, GiftRecord& wanted) {
  if (!fallback.empty() && record.get(GiftField::owner) == FieldValue(fallback))
    wanted.set(GiftField::owner, fallback);
}

FieldVerdict compare_field(const crm::GiftRecords& records, const GiftRecord& record,
                           const GiftRecord& wanted, GiftField field, bool is_adopted, bool knows_link) {
  const FieldOwner owner = descriptor_of(field).owner;
  const std::string* unreadable = unreadable_text_of(record, field);
  if (owner == FieldOwner::crm) return FieldVerdict::of_crm;
  if (!records.has_field(field)) return FieldVerdict::not_in_crm;
  if (!unreadable && holds(records, record, field, wanted.get(field))) return FieldVerdict::same;
  if (!unreadable && keeps_crm_value(wanted, field)) return FieldVerdict::not_known;
  if (field == GiftField::link && !knows_link) return FieldVerdict::link_unknown;
  // The CRM may have got the field after the record (SYNC-73).
  if (field == GiftField::utm_campaign_id && !has_value(record, field)) return FieldVerdict::not_in_crm;
  // An adopted record without Sent At may have an estimated time in the store.
  const bool is_only_reported = is_adopted && is_reported_when_adopted(field) && has_value(record, field);
  if (is_adopted && !is_status_field(field) && !is_only_reported) return FieldVerdict::of_adopted;
  const bool is_enforced =
      owner == FieldOwner::giftsync && !is_only_reported && !keeps_crm_value(wanted, field);
  // An empty text and no value are the same.
  if (!is_enforced && unreadable && unreadable->empty() && !has_value(wanted, field))
    return FieldVerdict::same;
  return is_enforced ? FieldVerdict::repaired : FieldVerdict::differs;
}

RecordDrift compare_record(const crm::GiftRecords& records, const GiftRecord& record,
                           const GiftRecord& wanted, bool is_adopted, bool knows_link) {
  RecordDrift drift;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    const FieldVerdict verdict = compare_field(records, record, wanted, field, is_adopted, knows_link);
    if (verdict != FieldVerdict::repaired && verdict != FieldVerdict::differs) continue;
    (verdict == FieldVerdict::repaired ? drift.repaired : drift.differences)
        .push_back({field, text_in(record, field), text_of(wanted.get(field))});
  }
  return drift;
}

namespace {

std::string kept_text(const GiftRecord& record, GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<Money> money_in(const GiftRecord& record, GiftField field) {
  const auto* money = std::get_if<Money>(&record.get(field));
  return money ? std::optional(*money) : std::nullopt;
}

store::GiftCosts cost_parts_in(const GiftRecord& record) {
  return {money_in(record, GiftField::item_cost), money_in(record, GiftField::shipping_cost),
          money_in(record, GiftField::carbon_neutral_cost), money_in(record, GiftField::transaction_fee)};
}

bool is_all_zero(const store::GiftCosts& costs) {
  constexpr std::optional<Money> kZero = Money{};
  const auto is_none = [&](const auto& part) { return !part || part == kZero; };
  return is_none(costs.item) && is_none(costs.shipping) && is_none(costs.carbon_neutral) &&
         is_none(costs.transaction_fee);
}

struct AdoptedCosts {
  store::GiftCosts costs;
  std::string explanation;  ///< how parts that do not add up to the total were counted, as a sentence
};

/// Total Price is the amount charged. The part of it that the costs do not cover becomes Item Cost where no
/// cost of the item is known (records of the first package have a price only), else Transaction Fee. Costs
/// above the total are ignored.
AdoptedCosts adopted_costs_in(const GiftRecord& record) {
  store::GiftCosts costs = cost_parts_in(record);
  const auto total = money_in(record, GiftField::total_price);
  const auto parts = costs.total();
  if (!total || parts == total) return {costs, ""};
  if (is_all_zero(costs)) {
    costs.item = total;
    return {costs, ""};
  }
  const std::string explanation = "Total Price " + to_decimal(*total) + " is not the " + to_decimal(*parts) +
                                  " of its parts: giftsync counts ";
  if (*parts > *total) return {{total, {}, {}, {}}, explanation + "all of it as Item Cost."};
  const Money remainder{total->minor_units - parts->minor_units};
  const bool is_fee = costs.item.has_value();
  std::optional<Money>& target = is_fee ? costs.transaction_fee : costs.item;
  target = target + std::optional(remainder);
  return {costs, explanation + "the other " + to_decimal(remainder) +
                     (is_fee ? " as Transaction Fee." : " as Item Cost.")};
}

std::optional<UtcMillis> time_in(const GiftRecord& record, Status status) {
  const auto* time = std::get_if<UtcMillis>(&record.get(time_field_of(status)));
  return time ? std::optional(*time) : std::nullopt;
}

/// Without a Sent At, the gift was sent no later than its first other status.
UtcMillis sent_at(const GiftRecord& record, UtcMillis now) {
  if (const auto sent = time_in(record, Status::sent)) return *sent;
  UtcMillis earliest = now;
  for (const Status status : kAllStatuses) {
    if (const auto time = time_in(record, status)) earliest = std::min(earliest, *time);
  }
  return earliest;
}

store::Gift gift_from_record(const GiftRecord& record, UtcMillis sent) {
  store::Gift gift;
  gift.request.mode = SendMode::external;
  if (const auto* item = std::get_if<std::int64_t>(&record.get(GiftField::item_id)))
    gift.request.gift = {*item};
  gift.request.item_description = kept_text(record, GiftField::description);
  gift.request.costs = adopted_costs_in(record).costs;
  gift.request.sender_email = kept_text(record, GiftField::sender_email);
  gift.request.created_at = sent;
  store::RecipientTransaction& transaction = gift.transaction;
  transaction.id = record.transaction();
  transaction.email = kept_text(record, GiftField::recipient_email);
  transaction.phone = kept_text(record, GiftField::recipient_phone_number);
  transaction.message = kept_text(record, GiftField::message);
  transaction.gift_source = store::kAdoptedGiftSource;
  return gift;
}

store::CrmSyncState sync_state_of(const GiftRecord& record, UtcMillis now) {
  store::CrmSyncState sync_state;
  sync_state.transaction = record.transaction();
  sync_state.state = store::CrmSyncStatus::written;
  sync_state.decided_at = now;
  const Associations links = giftsync::associations_of(record);
  sync_state.decision = {links.contact_id,
                         links.account_id,
                         links.lead_id,
                         links.opportunity_id,
                         kept_text(record, GiftField::deal_stage),
                         kept_text(record, GiftField::sender),
                         "The record was in the CRM before giftsync; its links are as they were found on " +
                             to_rfc3339(now) + ".",
                         adopted_costs_in(record).explanation};
  sync_state.written_version = std::max<std::int64_t>(record.version, 1);
  return sync_state;
}

/// Whether the next write replaces the unreadable value. Fields that keep their value when giftsync has none
/// stay.
bool is_repaired_by_write(const UnreadableValue& cell) {
  return descriptor_of(cell.field).owner == FieldOwner::giftsync && !is_preserved_when_absent(cell.field);
}

}  // namespace

std::vector<store::StatusChange> changes_from_record(const GiftRecord& record, const StatusTimes& known,
                                                     UtcMillis now) {
  std::vector<store::StatusChange> facts;
  for (const Status status : kAllStatuses) {
    const auto time = time_in(record, status);
    if (status == Status::sent || !time || known[status]) continue;
    store::StatusChange fact{
        {}, std::string(store::kAdoptedGiftSource), record.transaction(), status, *time, now, {}};
    fact.gift_source = store::kAdoptedGiftSource;
    facts.push_back(std::move(fact));
  }
  return facts;
}

bool is_sent_time_estimated(const store::Gift& gift, const GiftRecord& record) {
  return gift.transaction.gift_source == store::kAdoptedGiftSource &&
         time_in(record, Status::sent) != gift.transaction.times[Status::sent];
}

tl::expected<store::Adoption, std::string> plan_adoption(const GiftRecord& record, UtcMillis now) {
  const std::int64_t id = record.transaction().value;
  if (id < 1 || id > kMaxId)
    return tl::unexpected(std::string("its Transaction Id is not between 1 and 2^53"));
  const std::string word = kept_text(record, GiftField::status);
  const std::optional<Status> status = status_from_word(ascii_lower(giftsync::trimmed(word)));
  if (!word.empty() && !status)
    return tl::unexpected("its Status is \"" + word + "\", which is not a giftsync status");
  for (const UnreadableValue& cell : record.unreadable) {
    if (!giftsync::trimmed(cell.text).empty())
      return tl::unexpected("its " + std::string(descriptor_of(cell.field).label) + " is \"" + cell.text +
                            "\", which cannot be read; correct or clear it in the CRM");
  }
  store::Adoption adoption;
  const UtcMillis sent = sent_at(record, now);
  adoption.gift = gift_from_record(record, sent);
  adoption.facts = changes_from_record(record, {}, now);
  adoption.sync_state = sync_state_of(record, now);
  store::RecipientTransaction& transaction = adoption.gift.transaction;
  if (status && *status != Status::sent && !time_in(record, *status)) transaction.untimed_status = status;
  const FoldedStatus folded = fold(sent, adoption.facts, transaction.untimed_status);
  transaction.status = folded.status;
  transaction.times = folded.times;
  transaction.has_conflict = folded.has_conflict;
  adoption.write = to_word(folded.status) != word ||
                   std::any_of(record.unreadable.begin(), record.unreadable.end(), is_repaired_by_write);
  for (const store::StatusChange& fact : adoption.facts)
    adoption.write = adoption.write || folded.times[fact.status] != fact.occurred_at;
  transaction.version = adoption.sync_state.written_version + (adoption.write ? 1 : 0);
  return adoption;
}

}  // namespace giftsync::sync
