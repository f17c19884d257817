#include "sync/request_order.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "schema/address.h"
#include "schema/text.h"

namespace giftsync::sync {
namespace {

using schema::RequestRecord;
using F = schema::RequestField;

constexpr std::size_t kQuotedCodePoints = 60;

std::string quoted(const std::string& text) {
  return "\"" + std::string(schema::truncated(text, kQuotedCodePoints)) + "\"";
}

std::string trimmed(const std::string& text) {
  return std::string(schema::trimmed(text));
}

std::array<F, schema::kRequestFieldCount> all_fields() {
  std::array<F, schema::kRequestFieldCount> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = static_cast<F>(i);
  return fields;
}

std::optional<schema::SendMode> mode_of(const std::string& send_type) {
  const std::string word = schema::ascii_lower(schema::trimmed(send_type));
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
class Order {
 public:
  Order(const RequestRecord& record, const OrderLimits& limits) : record_(record), limits_(limits) {}

  std::optional<std::string> fault(bool person_found, const schema::GiftItem* item) const {
    for (const auto& found :
         {gift_fault(item), recipient_fault(person_found), name_fault(F::recipient_first_name),
          name_fault(F::recipient_last_name), message_fault(), type_fault()}) {
      if (found) return found;
    }
    return std::nullopt;
  }

 private:
  using Fault = std::optional<std::string>;

  Fault gift_fault(const schema::GiftItem* item) const {
    const std::string gift = trimmed(record_.text(F::gift_id));
    if (gift.empty()) return "Gift Id is empty: enter the number of the gift to send.";
    if (!gift_of(record_))
      return "Gift Id " + quoted(gift) +
             " is no number: enter the number at the end of the gift's page address.";
    if (item == nullptr || !item->active)
      return "There is no gift " + quoted(gift) +
             " to send: enter the Gift Id of one that the catalogue has.";
    return std::nullopt;
  }

  Fault recipient_fault(bool person_found) const {
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
    const auto why = schema::email_fault(email);
    return why ? Fault("Recipient Email " + quoted(email) + " " + *why + ".") : std::nullopt;
  }

  Fault name_fault(F field) const {
    const std::string name = trimmed(record_.text(field));
    const std::string label(field_of(field).label);
    if (has_control(name)) return label + " must be one line without control characters.";
    return length_fault(label, name, limits_.name_code_points);
  }

  Fault message_fault() const {
    const std::string message = record_.text(F::message);
    if (schema::trimmed(message).empty()) return "Message is empty: write one.";
    return length_fault("Message", message, limits_.message_code_points);
  }

  static Fault length_fault(const std::string& label, const std::string& text, std::size_t limit) {
    const std::size_t length = schema::count_code_points(text);
    if (length <= limit) return std::nullopt;
    return label + " has " + std::to_string(length) + " characters, at most " + std::to_string(limit) +
           " are allowed: shorten it.";
  }

  Fault type_fault() const {
    const std::string type = record_.text(F::send_type);
    if (mode_of(type)) return std::nullopt;
    return "Send Type " + quoted(trimmed(type)) + " is not available: use email, or link to create its URLs.";
  }

  const RequestRecord& record_;
  const OrderLimits& limits_;
};

/// Shipping and carbon count only if the record includes them.
schema::GiftCosts costs_of(const schema::GiftItem& item, const RequestRecord& record) {
  schema::GiftCosts costs = item.costs;
  const auto leave_out = [&](F field, std::optional<schema::Money>& cost) {
    if (cost && !record.checked(field).value_or(false)) cost = schema::Money{};
  };
  leave_out(F::include_shipping, costs.shipping);
  leave_out(F::include_carbon_neutral_cost, costs.carbon_neutral);
  return costs;
}

schema::NewGiftRequest order_of(const RequestRecord& record, const schema::GiftItem& item,
                                const schema::Account& account, schema::UtcMillis now) {
  schema::NewGiftRequest order;
  schema::GiftRequest& request = order.request;
  const std::string description = record.text(F::gift_item_description);
  request.account = account.id;
  request.mode = mode_of(record.text(F::send_type)).value_or(schema::SendMode::email);
  request.gift = item.id;
  request.item_name = item.name;
  request.item_description = description.empty() ? item.description : description;
  request.costs = costs_of(item, record);
  request.sender_email = account.email;
  request.sender_name = account.name;
  request.triggered_by = record.text(F::created_by);
  request.created_at = now;
  order.warnings = "[]";
  order.recipients.push_back({trimmed(record.text(F::recipient_email)),
                              trimmed(record.text(F::recipient_first_name)),
                              trimmed(record.text(F::recipient_last_name)), record.text(F::message)});
  order.origin = schema::RequestOrigin{record.id,
                                       0,
                                       record.text(F::recipient_contact),
                                       record.text(F::recipient_lead),
                                       record.text(F::account),
                                       record.text(F::opportunity),
                                       record.text(F::sender)};
  return order;
}

}  // namespace

RequestRecord completed(const RequestRecord& row, const schema::Person* person) {
  RequestRecord record = row;
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

std::string content_of(const RequestRecord& completed) {
  return write_values(completed, schema::approved_fields());
}

std::string order_text(const RequestRecord& completed) {
  return write_values(completed, all_fields());
}

RequestRecord record_of_order(const std::string& id, const std::string& order_text) {
  RequestRecord record;
  record.id = id;
  read_values(order_text, all_fields(), record);
  return record;
}

std::optional<schema::GiftId> gift_from_digits(const std::string& text) {
  std::int64_t number = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_id = digits && read.ec == std::errc{} && number >= 1 && number <= schema::kMaxId;
  return is_id ? std::optional(schema::GiftId{number}) : std::nullopt;
}

std::optional<schema::GiftId> gift_of(const RequestRecord& record) {
  return gift_from_digits(trimmed(record.text(F::gift_id)));
}

std::variant<schema::NewGiftRequest, OrderFault> make_order(const RequestRecord& completed, bool person_found,
                                                            const schema::GiftItem* item,
                                                            const schema::Account& account,
                                                            const OrderLimits& limits,
                                                            schema::UtcMillis now) {
  if (const auto fault = Order(completed, limits).fault(person_found, item)) return OrderFault{*fault};
  return order_of(completed, *item, account, now);
}

}  // namespace giftsync::sync
