#include "sync/request_record_to_gift_request.h"

#include <algorithm>
#include <array>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "sync/send_gift.h"

namespace giftsync::sync {
namespace {

using F = schema::RequestRecordField;

constexpr std::size_t kQuotedCodePoints = 60;

std::string quoted(const std::string& text) {
  return "\"" + std::string(platform::truncated(text, kQuotedCodePoints)) + "\"";
}

std::string trimmed(const std::string& text) {
  return std::string(platform::trimmed(text));
}

std::array<F, schema::kRequestRecordFieldCount> all_fields() {
  std::array<F, schema::kRequestRecordFieldCount> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = static_cast<F>(i);
  return fields;
}

std::optional<schema::SendMode> mode_of(const std::string& send_type) {
  const std::string word = platform::ascii_lower(platform::trimmed(send_type));
  if (word.empty() || word == "email" || word == "e-mail") return schema::SendMode::email;
  for (const std::string_view link : {"link", "links", "url", "urls", "redemption url"}) {
    if (word == link) return schema::SendMode::urls;
  }
  return std::nullopt;
}

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

using Error = std::optional<std::string>;

Error gift_error(const schema::RequestRecord& record, const schema::store::GiftItem* item) {
  const std::string gift = trimmed(record.text(F::gift_id));
  if (gift.empty()) return "Gift Id is empty: enter the number of the gift to send.";
  if (!gift_id_of(record))
    return "Gift Id " + quoted(gift) +
           " is not a number: enter the number at the end of the item's page URL.";
  if (item == nullptr || !item->active)
    return "There is no item " + quoted(gift) +
           " in the catalogue: enter the Gift Id of one that \"giftsyncctl item list\" shows.";
  return std::nullopt;
}

Error recipient_error(const schema::RequestRecord& record, bool person_found) {
  const bool contact = !record.text(F::recipient_contact).empty();
  const bool lead = !record.text(F::recipient_lead).empty();
  if (contact && lead) return "Recipient Contact and Recipient Lead are both set: clear one of them.";
  if ((contact || lead) && !person_found) {
    return std::string(contact ? "Recipient Contact " : "Recipient Lead ") +
           quoted(record.text(contact ? F::recipient_contact : F::recipient_lead)) +
           " is not in the CRM: choose another one or clear the field.";
  }
  const std::string email = trimmed(record.text(F::recipient_email));
  if (email.empty()) return "There is no address to send to: fill in Recipient Email.";
  const auto why = schema::email_error(email);
  return why ? Error("Recipient Email " + quoted(email) + " " + *why + ".") : std::nullopt;
}

Error length_error(const std::string& label, const std::string& text, std::size_t limit) {
  const std::size_t length = platform::count_code_points(text);
  if (length <= limit) return std::nullopt;
  return label + " has " + std::to_string(length) + " characters, at most " + std::to_string(limit) +
         " are allowed: shorten it.";
}

Error name_error(const schema::RequestRecord& record, F field, std::size_t limit) {
  const std::string name = trimmed(record.text(field));
  const std::string label(schema::descriptor_of(field).label);
  if (has_control(name)) return label + " must be one line without control characters.";
  return length_error(label, name, limit);
}

Error message_error(const std::string& message, std::size_t limit) {
  if (platform::trimmed(message).empty()) return "Message is empty: write one.";
  return length_error("Message", message, limit);
}

Error type_error(const std::string& type) {
  if (mode_of(type)) return std::nullopt;
  return "Send Type " + quoted(trimmed(type)) + " is not available: use email, or link to create its URLs.";
}

/// Shipping and carbon count only if the record includes them.
schema::store::GiftCosts costs_of(const schema::store::GiftItem& item, const schema::RequestRecord& record) {
  schema::store::GiftCosts costs = item.costs;
  const auto exclude_unless_checked = [&](F field, std::optional<schema::Money>& cost) {
    if (cost && !record.checkbox(field).value_or(false)) cost = schema::Money{};
  };
  exclude_unless_checked(F::include_shipping, costs.shipping);
  exclude_unless_checked(F::include_carbon_neutral_cost, costs.carbon_neutral);
  return costs;
}

schema::store::NewGiftRequest gift_request_from(const schema::RequestRecord& record,
                                                const schema::store::GiftItem& item,
                                                const schema::store::Account& account,
                                                platform::UtcMillis now) {
  schema::store::GiftItem ordered = item;
  ordered.costs = costs_of(item, record);
  if (const std::string description = record.text(F::gift_item_description); !description.empty())
    ordered.description = description;
  return new_gift_request(
      {.sender = account,
       .item = ordered,
       .mode = mode_of(record.text(F::send_type)).value_or(schema::SendMode::email),
       .recipients = {{trimmed(record.text(F::recipient_email)),
                       trimmed(record.text(F::recipient_first_name)),
                       trimmed(record.text(F::recipient_last_name)), record.text(F::message)}},
       .triggered_by = record.text(F::created_by),
       .request_record =
           schema::store::RequestRecordLink{record.id, 0, record.text(F::recipient_contact),
                                            record.text(F::recipient_lead), record.text(F::account),
                                            record.text(F::opportunity), record.text(F::sender)}},
      now);
}

}  // namespace

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

tl::expected<schema::store::NewGiftRequest, std::string> make_gift_request(
    const schema::RequestRecord& completed, bool person_found, const schema::store::GiftItem* item,
    const schema::store::Account& account, const GiftRequestLimits& limits, platform::UtcMillis now) {
  for (const Error& error : {gift_error(completed, item), recipient_error(completed, person_found),
                             name_error(completed, F::recipient_first_name, limits.name_code_points),
                             name_error(completed, F::recipient_last_name, limits.name_code_points),
                             message_error(completed.text(F::message), limits.message_code_points),
                             type_error(completed.text(F::send_type))}) {
    if (error) return tl::unexpected(*error);
  }
  return gift_request_from(completed, *item, account, now);
}

}  // namespace giftsync::sync
