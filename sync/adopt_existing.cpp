#include "sync/adopt_existing.h"

#include <algorithm>

#include "platform/text.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

std::string text_in(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<schema::Money> money_in(const schema::GiftRecord& record, schema::GiftField field) {
  const auto* money = std::get_if<schema::Money>(&record.get(field));
  return money ? std::optional(*money) : std::nullopt;
}

schema::store::GiftCosts cost_parts_in(const schema::GiftRecord& record) {
  return {money_in(record, schema::GiftField::item_cost), money_in(record, schema::GiftField::shipping_cost),
          money_in(record, schema::GiftField::carbon_neutral_cost),
          money_in(record, schema::GiftField::transaction_fee)};
}

bool is_all_zero(const schema::store::GiftCosts& costs) {
  constexpr std::optional<schema::Money> kZero = schema::Money{};
  const auto is_none = [&](const auto& part) { return !part || part == kZero; };
  return is_none(costs.item) && is_none(costs.shipping) && is_none(costs.carbon_neutral) &&
         is_none(costs.transaction_fee);
}

struct AdoptedCosts {
  schema::store::GiftCosts costs;
  std::string explanation;  ///< how parts that do not add up to the total were counted, as a sentence
};

/// Total Price is the amount charged. The part of it that the costs do not cover becomes Item Cost where no
/// cost of the item is known (records of the first package have a price only), else Transaction Fee. Costs
/// above the total are ignored.
AdoptedCosts adopted_costs_in(const schema::GiftRecord& record) {
  schema::store::GiftCosts costs = cost_parts_in(record);
  const auto total = money_in(record, schema::GiftField::total_price);
  const auto parts = costs.total();
  if (!total || parts == total) return {costs, ""};
  if (is_all_zero(costs)) {
    costs.item = total;
    return {costs, ""};
  }
  const std::string explanation = "Total Price " + schema::to_decimal(*total) + " is not the " +
                                  schema::to_decimal(*parts) + " of its parts: giftsync counts ";
  if (*parts > *total) return {{total, {}, {}, {}}, explanation + "all of it as Item Cost."};
  const schema::Money remainder{total->minor_units - parts->minor_units};
  const bool is_fee = costs.item.has_value();
  std::optional<schema::Money>& target = is_fee ? costs.transaction_fee : costs.item;
  target = target + std::optional(remainder);
  return {costs, explanation + "the other " + schema::to_decimal(remainder) +
                     (is_fee ? " as Transaction Fee." : " as Item Cost.")};
}

std::optional<platform::UtcMillis> time_in(const schema::GiftRecord& record, schema::Status status) {
  const auto* time = std::get_if<platform::UtcMillis>(&record.get(schema::time_field_of(status)));
  return time ? std::optional(*time) : std::nullopt;
}

/// Without a Sent At, the gift was sent no later than its first other status.
platform::UtcMillis sent_at(const schema::GiftRecord& record, platform::UtcMillis now) {
  if (const auto sent = time_in(record, schema::Status::sent)) return *sent;
  platform::UtcMillis earliest = now;
  for (const schema::Status status : schema::kAllStatuses) {
    if (const auto time = time_in(record, status)) earliest = std::min(earliest, *time);
  }
  return earliest;
}

schema::store::Gift gift_from_record(const schema::GiftRecord& record, platform::UtcMillis sent) {
  schema::store::Gift gift;
  gift.request.mode = schema::SendMode::external;
  if (const auto* item = std::get_if<std::int64_t>(&record.get(schema::GiftField::item_id)))
    gift.request.gift = {*item};
  gift.request.item_description = text_in(record, schema::GiftField::description);
  gift.request.costs = adopted_costs_in(record).costs;
  gift.request.sender_email = text_in(record, schema::GiftField::sender_email);
  gift.request.created_at = sent;
  schema::store::RecipientTransaction& transaction = gift.transaction;
  transaction.id = record.transaction();
  transaction.email = text_in(record, schema::GiftField::recipient_email);
  transaction.phone = text_in(record, schema::GiftField::recipient_phone_number);
  transaction.message = text_in(record, schema::GiftField::message);
  transaction.gift_source = schema::store::kAdoptedGiftSource;
  return gift;
}

schema::store::CrmSyncState sync_state_of(const schema::GiftRecord& record, platform::UtcMillis now) {
  schema::store::CrmSyncState sync_state;
  sync_state.transaction = record.transaction();
  sync_state.state = schema::store::CrmSyncStatus::written;
  sync_state.decided_at = now;
  const schema::Associations links = schema::associations_of(record);
  sync_state.decision = {links.contact_id,
                         links.account_id,
                         links.lead_id,
                         links.opportunity_id,
                         text_in(record, schema::GiftField::deal_stage),
                         text_in(record, schema::GiftField::sender),
                         "The record was in the CRM before giftsync; its links are as they were found on " +
                             platform::to_rfc3339(now) + ".",
                         adopted_costs_in(record).explanation};
  sync_state.written_version = std::max<std::int64_t>(record.version, 1);
  return sync_state;
}

/// Whether the next write replaces the unreadable value. Fields that keep their value when giftsync has none
/// stay.
bool is_repaired_by_write(const schema::UnreadableValue& cell) {
  return schema::descriptor_of(cell.field).owner == schema::FieldOwner::giftsync &&
         !schema::is_preserved_when_absent(cell.field);
}

}  // namespace

std::vector<schema::store::StatusChange> changes_from_record(const schema::GiftRecord& record,
                                                             const schema::StatusTimes& known,
                                                             platform::UtcMillis now) {
  std::vector<schema::store::StatusChange> facts;
  for (const schema::Status status : schema::kAllStatuses) {
    const auto time = time_in(record, status);
    if (status == schema::Status::sent || !time || known[status]) continue;
    schema::store::StatusChange fact{
        {}, std::string(schema::store::kAdoptedGiftSource), record.transaction(), status, *time, now, {}};
    fact.gift_source = schema::store::kAdoptedGiftSource;
    facts.push_back(std::move(fact));
  }
  return facts;
}

bool is_sent_time_estimated(const schema::store::Gift& gift, const schema::GiftRecord& record) {
  return gift.transaction.gift_source == schema::store::kAdoptedGiftSource &&
         time_in(record, schema::Status::sent) != gift.transaction.times[schema::Status::sent];
}

tl::expected<schema::store::Adoption, std::string> plan_adoption(const schema::GiftRecord& record,
                                                                 platform::UtcMillis now) {
  const std::int64_t id = record.transaction().value;
  if (id < 1 || id > schema::kMaxId)
    return tl::unexpected(std::string("its Transaction Id is not between 1 and 2^53"));
  const std::string word = text_in(record, schema::GiftField::status);
  const std::optional<schema::Status> status =
      schema::status_from_word(platform::ascii_lower(platform::trimmed(word)));
  if (!word.empty() && !status)
    return tl::unexpected("its Status is \"" + word + "\", which is not a giftsync status");
  for (const schema::UnreadableValue& cell : record.unreadable) {
    if (!platform::trimmed(cell.text).empty())
      return tl::unexpected("its " + std::string(schema::descriptor_of(cell.field).label) + " is \"" +
                            cell.text + "\", which cannot be read; correct or clear it in the CRM");
  }
  schema::store::Adoption adoption;
  const platform::UtcMillis sent = sent_at(record, now);
  adoption.gift = gift_from_record(record, sent);
  adoption.facts = changes_from_record(record, {}, now);
  adoption.sync_state = sync_state_of(record, now);
  schema::store::RecipientTransaction& transaction = adoption.gift.transaction;
  if (status && *status != schema::Status::sent && !time_in(record, *status))
    transaction.untimed_status = status;
  const FoldedStatus folded = fold(sent, adoption.facts, transaction.untimed_status);
  transaction.status = folded.status;
  transaction.times = folded.times;
  transaction.has_conflict = folded.has_conflict;
  adoption.write = to_word(folded.status) != word ||
                   std::any_of(record.unreadable.begin(), record.unreadable.end(), is_repaired_by_write);
  for (const schema::store::StatusChange& fact : adoption.facts)
    adoption.write = adoption.write || folded.times[fact.status] != fact.occurred_at;
  transaction.version = adoption.sync_state.written_version + (adoption.write ? 1 : 0);
  return adoption;
}

}  // namespace giftsync::sync
