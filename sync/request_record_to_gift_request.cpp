#include "sync/request_record_to_gift_request.h"

#include <algorithm>
#include <array>
#include <charconv>

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

/// Checks one record, fault by fault.
class RequestRecordValidator {
 public:
  RequestRecordValidator(const schema::RequestRecord& record, const GiftRequestLimits& limits)
      : record_(record), limits_(limits) {}

  std::optional<std::string> fault(bool person_found, const schema::store::GiftItem* item) const {
    for (const auto& found :
         {gift_error(item), recipient_error(person_found), name_error(F::recipient_first_name),
          name_error(F::recipient_last_name), message_error(), type_error()}) {
      if (found) return found;
    }
    return std::nullopt;
  }

 private:
  using Error = std::optional<std::string>;

  Error gift_error(const schema::store::GiftItem* item) const {
    const std::string gift = trimmed(record_.text(F::gift_id));
    if (gift.empty()) return "Gift Id is empty: enter the number of the gift to send.";
    if (!gift_id_of(record_))
      return "Gift Id " + quoted(gift) +
             " is not a number: enter the number at the end of the item's page URL.";
    if (item == nullptr || !item->active)
      return "There is no gift " + quoted(gift) + " to send: enter the Gift Id of an item in the catalogue.";
    return std::nullopt;
  }

  Error recipient_error(bool person_found) const {
    const bool contact = !record_.text(F::recipient_contact).empty();
    const bool lead = !record_.text(F::recipient_lead).empty();
    if (contact && lead) return "Recipient Contact and Recipient Lead are both set: clear one of them.";
    if ((contact || lead) && !person_found) {
      return std::string(contact ? "Recipient Contact " : "Recipient Lead ") +
             quoted(record_.text(contact ? F::recipient_contact : F::recipient_lead)) +
             " is not in the CRM: choose another one or clear the field.";
    }
    const std::string email = trimmed(record_.text(F::recipient_email));
    if (email.empty()) return "There is no address to send to: fill in Recipient Email.";
    const auto why = schema::email_error(email);
    return why ? Error("Recipient Email " + quoted(email) + " " + *why + ".") : std::nullopt;
  }

  Error name_error(F field) const {
    const std::string name = trimmed(record_.text(field));
    const std::string label(schema::descriptor_of(field).label);
    if (has_control(name)) return label + " must be one line without control characters.";
    return length_error(label, name, limits_.name_code_points);
  }

  Error message_error() const {
    const std::string message = record_.text(F::message);
    if (platform::trimmed(message).empty()) return "Message is empty: write one.";
    return length_error("Message", message, limits_.message_code_points);
  }

  static Error length_error(const std::string& label, const std::string& text, std::size_t limit) {
    const std::size_t length = platform::count_code_points(text);
    if (length <= limit) return std::nullopt;
    return label + " has " + std::to_string(length) + " characters, at most " + std::to_string(limit) +
           " are allowed: shorten it.";
  }

  Error type_error() const {
    const std::string type = record_.text(F::send_type);
    if (mode_of(type)) return std::nullopt;
    return "Send Type " + quoted(trimmed(type)) + " is not available: use email, or link to create its URLs.";
  }

  const schema::RequestRecord& record_;
  const GiftRequestLimits& limits_;
};

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

schema::RequestRecord with_defaults(const schema::RequestRecord& row, const schema::crm::Person* person) {
  schema::RequestRecord record = row;
  if (record.text(F::sender).empty() && !row.text(F::created_by).empty())
    record.set(F::sender, row.text(F::created_by));
  if (person == nullptr) return record;
  if (trimmed(row.text(F::recipient_email)).empty()) record.set(F::recipient_email, person->email);
  if (row.text(F::recipient_first_name).empty() && row.text(F::recipient_last_name).empty()) {
    record.set(F::recipient_first_name, person->first_name);
    record.set(F::recipient_last_name, person->last_name);
  }
  return record;
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
  std::int64_t number = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_id = digits && read.ec == std::errc{} && number >= 1 && number <= schema::kMaxId;
  return is_id ? std::optional(schema::GiftId{number}) : std::nullopt;
}

std::optional<schema::GiftId> gift_id_of(const schema::RequestRecord& record) {
  return parse_gift_id(trimmed(record.text(F::gift_id)));
}

std::variant<schema::store::NewGiftRequest, RequestRecordError> make_gift_request(
    const schema::RequestRecord& completed, bool person_found, const schema::store::GiftItem* item,
    const schema::store::Account& account, const GiftRequestLimits& limits, platform::UtcMillis now) {
  if (const auto fault = RequestRecordValidator(completed, limits).fault(person_found, item))
    return RequestRecordError{*fault};
  return gift_request_from(completed, *item, account, now);
}

}  // namespace giftsync::sync
