#include "sync/adoption.h"

#include <algorithm>

#include "schema/text.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

using schema::GiftField;
using schema::GiftRecord;
using schema::Status;
using schema::UtcMillis;

std::string text_in(const GiftRecord& record, GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

std::optional<schema::Money> money_in(const GiftRecord& record, GiftField field) {
  const auto* money = std::get_if<schema::Money>(&record.get(field));
  return money ? std::optional(*money) : std::nullopt;
}

schema::GiftCosts parts_in(const GiftRecord& record) {
  return {money_in(record, GiftField::item_cost), money_in(record, GiftField::shipping_cost),
          money_in(record, GiftField::carbon_neutral_cost), money_in(record, GiftField::transaction_fee)};
}

bool is_nothing(const schema::GiftCosts& costs) {
  constexpr std::optional<schema::Money> kZero = schema::Money{};
  const auto is_none = [&](const auto& part) { return !part || part == kZero; };
  return is_none(costs.item) && is_none(costs.shipping) && is_none(costs.carbon_neutral) &&
         is_none(costs.transaction_fee);
}

struct FoundCosts {
  schema::GiftCosts costs;
  std::string told;  ///< what was done with parts that do not add up to the total, as a sentence
};

/// What was charged is what Total Price says. What the parts leave of it is the item's where no cost of the
/// item is known (records of the first package have a price and nothing of what it is made of), else a fee.
/// Parts of more than the total are not believed.
FoundCosts costs_in(const GiftRecord& record) {
  schema::GiftCosts costs = parts_in(record);
  const auto total = money_in(record, GiftField::total_price);
  const auto parts = costs.total();
  if (!total || parts == total) return {costs, ""};
  if (is_nothing(costs)) {
    costs.item = total;
    return {costs, ""};
  }
  const std::string told = "Total Price " + to_decimal(*total) + " is not the " + to_decimal(*parts) +
                           " of its parts: giftsync counts ";
  if (*parts > *total) return {{total, {}, {}, {}}, told + "all of it as Item Cost."};
  const schema::Money left{total->minor_units - parts->minor_units};
  const bool is_fee = costs.item.has_value();
  std::optional<schema::Money>& rest = is_fee ? costs.transaction_fee : costs.item;
  rest = rest + std::optional(left);
  return {costs,
          told + "the other " + to_decimal(left) + (is_fee ? " as Transaction Fee." : " as Item Cost.")};
}

std::optional<UtcMillis> time_in(const GiftRecord& record, Status status) {
  const auto* time = std::get_if<UtcMillis>(&record.get(schema::time_field_of(status)));
  return time ? std::optional(*time) : std::nullopt;
}

/// When nothing tells when the gift was sent, no later than the first thing that became of it.
UtcMillis sent_at(const GiftRecord& record, UtcMillis now) {
  if (const auto sent = time_in(record, Status::sent)) return *sent;
  UtcMillis earliest = now;
  for (const Status status : schema::kAllStatuses) {
    if (const auto time = time_in(record, status)) earliest = std::min(earliest, *time);
  }
  return earliest;
}

std::vector<schema::ChangeSpan> spans_of(const std::vector<schema::StatusChange>& facts) {
  std::vector<schema::ChangeSpan> spans;
  for (const schema::StatusChange& fact : facts)
    spans.push_back(
        {fact.transaction, fact.status, schema::Premise::none, fact.occurred_at, fact.occurred_at});
  return spans;
}

schema::Gift gift_of(const GiftRecord& record, UtcMillis sent) {
  schema::Gift gift;
  gift.request.mode = schema::SendMode::external;
  if (const auto* item = std::get_if<std::int64_t>(&record.get(GiftField::item_id)))
    gift.request.gift = {*item};
  gift.request.item_description = text_in(record, GiftField::description);
  gift.request.costs = costs_in(record).costs;
  gift.request.sender_email = text_in(record, GiftField::sender_email);
  gift.request.created_at = sent;
  schema::RecipientTransaction& transaction = gift.transaction;
  transaction.id = record.transaction();
  transaction.email = text_in(record, GiftField::recipient_email);
  transaction.phone = text_in(record, GiftField::recipient_phone_number);
  transaction.message = text_in(record, GiftField::message);
  transaction.origin = schema::kAdoptedOrigin;
  return gift;
}

schema::GiftMirror mirror_of(const GiftRecord& record, UtcMillis now) {
  schema::GiftMirror mirror;
  mirror.transaction = record.transaction();
  mirror.state = schema::MirrorState::written;
  mirror.decided_at = now;
  const schema::Associations links = schema::associations_of(record);
  mirror.decision = {links.contact_id,
                     links.account_id,
                     links.lead_id,
                     links.opportunity_id,
                     text_in(record, GiftField::deal_stage),
                     text_in(record, GiftField::sender),
                     "The record was in the CRM before giftsync; its links are as they were found on " +
                         schema::to_rfc3339(now) + ".",
                     costs_in(record).told};
  mirror.written_version = std::max<std::int64_t>(record.version, 1);
  return mirror;
}

/// What is left where giftsync has no value is left here as well.
bool is_mended_by_writing(const schema::UnreadableCell& cell) {
  return schema::field_of(cell.field).owner == schema::FieldOwner::giftsync &&
         !schema::is_left_when_absent(cell.field);
}

}  // namespace

std::vector<schema::StatusChange> facts_of(const GiftRecord& record, const schema::StatusTimes& known,
                                           UtcMillis now) {
  std::vector<schema::StatusChange> facts;
  for (const Status status : schema::kAllStatuses) {
    const auto time = time_in(record, status);
    if (status == Status::sent || !time || known[status]) continue;
    schema::StatusChange fact{
        {}, std::string(schema::kAdoptedOrigin), record.transaction(), status, *time, now, {}};
    fact.origin = schema::kAdoptedOrigin;
    facts.push_back(std::move(fact));
  }
  return facts;
}

bool is_sending_guessed(const schema::Gift& gift, const GiftRecord& record) {
  return gift.transaction.origin == schema::kAdoptedOrigin &&
         time_in(record, Status::sent) != gift.transaction.times[Status::sent];
}

std::variant<schema::Adoption, std::string> adoption_of(const GiftRecord& record, UtcMillis now) {
  const std::int64_t id = record.transaction().value;
  if (id < 1 || id > schema::kMaxId) return "its Transaction Id is not between 1 and 2^53";
  const std::string word = text_in(record, GiftField::status);
  const std::optional<Status> status = schema::status_from_word(schema::ascii_lower(schema::trimmed(word)));
  if (!word.empty() && !status) return "its Status is \"" + word + "\", which is none of giftsync's words";
  for (const schema::UnreadableCell& cell : record.unreadable) {
    if (!schema::trimmed(cell.text).empty())
      return "its " + std::string(field_of(cell.field).label) + " is \"" + cell.text +
             "\", which cannot be read; correct or clear it in the CRM";
  }
  schema::Adoption adoption;
  const UtcMillis sent = sent_at(record, now);
  adoption.gift = gift_of(record, sent);
  adoption.facts = facts_of(record, {}, now);
  adoption.mirror = mirror_of(record, now);
  schema::RecipientTransaction& transaction = adoption.gift.transaction;
  if (status && *status != Status::sent && !time_in(record, *status)) transaction.untimed_status = status;
  const FoldedStatus folded = fold(sent, spans_of(adoption.facts), transaction.untimed_status);
  transaction.status = folded.status;
  transaction.times = folded.times;
  transaction.contradictory = folded.contradictory;
  adoption.write = to_word(folded.status) != word ||
                   std::any_of(record.unreadable.begin(), record.unreadable.end(), is_mended_by_writing);
  for (const schema::StatusChange& fact : adoption.facts)
    adoption.write = adoption.write || folded.times[fact.status] != fact.occurred_at;
  transaction.version = adoption.mirror.written_version + (adoption.write ? 1 : 0);
  return adoption;
}

}  // namespace giftsync::sync
