#include "sync/request_record_to_gift_request.h"

#include <array>

#include "platform/text.h"
#include "schema/crm_id.h"
#include "sync/send_gift.h"

namespace giftsync::sync {
namespace {

using F = schema::RequestRecordField;

std::string trimmed(const std::string& text) {
  return std::string(platform::trimmed(text));
}

std::array<F, schema::kRequestRecordFieldCount> all_fields() {
  std::array<F, schema::kRequestRecordFieldCount> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = static_cast<F>(i);
  return fields;
}

}  // namespace

schema::store::GiftCosts request_costs(const schema::store::GiftItem& item,
                                       const schema::RequestRecord& record) {
  schema::store::GiftCosts costs = item.costs;
  const auto exclude_unless_checked = [&](F field, std::optional<schema::Money>& cost) {
    if (cost && !record.checkbox(field).value_or(false)) cost = schema::Money{};
  };
  exclude_unless_checked(F::include_shipping, costs.shipping);
  exclude_unless_checked(F::include_carbon_neutral_cost, costs.carbon_neutral);
  return costs;
}

std::string approved_content_of(const schema::RequestRecord& completed) {
  return schema::format_values(completed, schema::approval_bound_fields());
}

std::string format_request_record(const schema::RequestRecord& completed) {
  return schema::format_values(completed, all_fields());
}

schema::RequestRecord parse_request_record(const std::string& id, const std::string& record_text) {
  schema::RequestRecord record;
  record.id = id;
  schema::parse_values(record_text, all_fields(), record);
  return record;
}

std::optional<schema::GiftId> parse_gift_id(const std::string& text) {
  const auto number = platform::parse_number<std::int64_t>(text);
  const bool is_id = number && *number >= 1 && *number <= schema::kMaxId;
  return is_id ? std::optional(schema::GiftId{*number}) : std::nullopt;
}

std::optional<schema::GiftId> gift_id_of(const schema::RequestRecord& record) {
  return parse_gift_id(trimmed(record.text(F::gift_id)));
}

std::optional<schema::SendMode> send_mode_of(const std::string& send_type) {
  const std::string word = platform::ascii_lower(platform::trimmed(send_type));
  if (word.empty() || word == "email" || word == "e-mail") return schema::SendMode::email;
  for (const std::string_view link : {"link", "links", "url", "urls", "redemption url"}) {
    if (word == link) return schema::SendMode::urls;
  }
  return std::nullopt;
}

schema::store::NewGiftRequest make_gift_request(const schema::RequestRecord& record,
                                                const schema::store::GiftItem& item,
                                                const schema::store::Account& account,
                                                platform::UtcMillis now) {
  schema::store::GiftItem ordered = item;
  ordered.costs = request_costs(item, record);
  if (const std::string description = record.text(F::gift_item_description); !description.empty())
    ordered.description = description;
  const auto id_in = [&](F field) { return schema::long_crm_id(record.text(field)); };
  return new_gift_request(
      {.sender = account,
       .item = ordered,
       .mode = send_mode_of(record.text(F::send_type)).value_or(schema::SendMode::email),
       .recipients = {{trimmed(record.text(F::recipient_email)),
                       trimmed(record.text(F::recipient_first_name)),
                       trimmed(record.text(F::recipient_last_name)), record.text(F::message)}},
       .triggered_by = record.text(F::created_by),
       .request_record = schema::store::RequestRecordLink{record.id, 0, id_in(F::recipient_contact),
                                                          id_in(F::recipient_lead), id_in(F::account),
                                                          id_in(F::opportunity), id_in(F::sender)}},
      now);
}

}  // namespace giftsync::sync
