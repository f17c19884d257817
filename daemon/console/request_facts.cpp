#include "daemon/console/request_facts.h"

#include <utility>

#include "platform/text.h"
#include "schema/money.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::console {
namespace {

using F = RequestRecordField;

std::string value_text(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* yes = std::get_if<bool>(&value)) return texts().text(*yes ? "is_yes" : "is_no");
  return {};
}

constexpr std::size_t kMaxEditedCodePoints = 200;

std::string shortened(const std::string& text) {
  const std::string_view start = truncated(text, kMaxEditedCodePoints);
  return std::string(start) + (start.size() < text.size() ? "…" : "");
}

std::string label_of(F field) {
  // Its name in the CRM means the item, not a gift of giftsync; errors name it as the CRM does.
  return field == F::gift_id ? texts().text("item_field") : std::string(descriptor_of(field).label);
}

/// The value of the field as an auditor reads it (CON-59).
std::string masked_value(bool is_masked, F field, const std::string& value) {
  if (field == F::recipient_email) return masked_address(is_masked, value);
  const bool is_of_recipient =
      field == F::recipient_first_name || field == F::recipient_last_name || field == F::message;
  return masked_text(is_masked && is_of_recipient, value);
}

/// "Ana Lima (005A)"; the Id alone without a name, or where the name would be a recipient's.
std::string named(const Names& names, F field, const std::string& id, bool is_masked) {
  const auto name = names.find(field);
  const bool is_hidden = is_masked && field != F::sender;
  if (name == names.end() || name->second.empty() || is_hidden) return id;
  return name->second + " (" + id + ")";
}

std::optional<store::GiftItem> item_of(const PageCall& call, const RequestRecord& record) {
  const auto id = sync::gift_id_of(record);
  return id ? call.store().catalogue.item(*id) : std::nullopt;
}

/// An item by name and number, and the total cost of the record: empty where the catalogue has no such item.
struct ItemTexts {
  std::string name;
  std::string cost;
};

ItemTexts item_texts(const PageCall& call, const RequestRecord& record) {
  const auto item = item_of(call, record);
  const std::string number = record.text(F::gift_id);
  return {(item ? item->name : texts().text("unknown_item")) + (number.empty() ? "" : " (" + number + ")"),
          item ? amount_on_page(call, sync::request_costs(*item, record).total()) : ""};
}

}  // namespace

std::string ShownRequest::content() const {
  return loaded ? sync::approved_content_of(loaded->completed) : std::string();
}

std::string joined(const std::string& first, const std::string& between, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : between) + second;
}

Names names_of(const PageCall& call, const ShownRequest& shown) {
  Names names;
  if (!shown.loaded) return names;
  const RequestRecord& record = shown.loaded->completed;
  ask_responding_crm([&] {
    crm::Crm& crm = *call.console.options.crm.crm;
    if (const std::string id = record.text(F::sender); !id.empty())
      for (const auto& user : crm.directory().find_users_by_id(std::span(&id, 1)))
        if (user) names[F::sender] = user->name;
    for (const auto& [field, object] : {std::pair(F::recipient_contact, crm::PersonObject::contact),
                                        std::pair(F::recipient_lead, crm::PersonObject::lead)}) {
      const std::string id = record.text(field);
      if (id.empty()) continue;
      for (const auto& person : crm.request_records()->find_persons(object, std::span(&id, 1)))
        names[field] = joined(person.first_name, " ", person.last_name);
    }
  });
  return names;
}

RequestRecord parsed_content(const std::string& content) {
  RequestRecord record;
  parse_values(content, approval_bound_fields(), record);
  return record;
}

std::optional<RequestRecord> content_of(const ShownRequest& shown) {
  if (shown.loaded) return shown.loaded->completed;
  if (shown.entry.approved_content.empty()) return std::nullopt;
  return parsed_content(shown.entry.approved_content);
}

Data fields_data(const RequestRecord& record, bool is_masked, const Names& names) {
  Data rows(Data::type::list);
  for (const F field : approval_bound_fields()) {
    const std::string value = value_text(record.get(field));
    if (value.empty()) continue;
    Data row;
    row.set("label", label_of(field));
    row.set("value", masked_value(is_masked, field, named(names, field, value, is_masked)));
    rows << row;
  }
  return rows;
}

Data difference_data(const PageCall& call, const RequestRecord& record, const RequestRecord& before) {
  Data rows(Data::type::list);
  const auto add = [&](const std::string& label, const std::string& old, const std::string& now) {
    Data row;
    row.set("label", label);
    row.set("value", now);
    row.set("old", old);
    rows << row;
  };
  const bool is_masked = hides_recipients(call);
  const ItemTexts old_item = item_texts(call, before);
  const ItemTexts item = item_texts(call, record);
  for (const F field : approval_bound_fields()) {
    const std::string old = value_text(before.get(field));
    const std::string now = value_text(record.get(field));
    if (old == now) continue;
    if (field == F::gift_id)
      add(label_of(field), old_item.name, item.name);
    else
      add(label_of(field), masked_value(is_masked, field, old), masked_value(is_masked, field, now));
  }
  const auto known = [](const std::string& cost) { return cost.empty() ? texts().text("not_known") : cost; };
  if (old_item.cost != item.cost) add(texts().text("total_cost"), known(old_item.cost), known(item.cost));
  return rows;
}

std::string edit_text(const store::RequestRecordEdit& edit, bool is_masked) {
  const RequestRecord before = parsed_content(edit.before);
  const RequestRecord after = parsed_content(edit.after);
  std::string text;
  for (const F field : approval_bound_fields()) {
    const std::string old = value_text(before.get(field));
    const std::string now = value_text(after.get(field));
    if (old == now) continue;
    text = joined(text, "; ",
                  texts().text("edited_field", {{"field", label_of(field)},
                                                {"old", shortened(masked_value(is_masked, field, old))},
                                                {"new", shortened(masked_value(is_masked, field, now))}}));
  }
  return text;
}

Data essence_of(const PageCall& call, const RequestRecord& record) {
  const bool is_masked = hides_recipients(call);
  const ItemTexts item = item_texts(call, record);
  const std::string name =
      joined(record.text(F::recipient_first_name), " ", record.text(F::recipient_last_name));
  const std::string address = masked_address(is_masked, record.text(F::recipient_email));
  Data essence;
  essence.set("item", item.name);
  essence.set("who", name.empty() ? address : masked_text(is_masked, name));
  if (!name.empty()) set_address(essence, "address", address);
  set_text(essence, "cost", item.cost);
  return essence;
}

void add_essence(Data& lines, const PageCall& call, const RequestRecord& record, const Names& names) {
  const bool is_masked = hides_recipients(call);
  const auto sender = names.find(F::sender);
  add_line(lines, "sender",
           sender == names.end() || sender->second.empty() ? record.text(F::sender) : sender->second);
  add_line(lines, "message", masked_text(is_masked, record.text(F::message)));
}

Data details_of(const PageCall& call, const ShownRequest& shown) {
  Data lines(Data::type::list);
  const auto item = shown.loaded ? item_of(call, shown.loaded->completed) : std::nullopt;
  if (item) {
    const store::GiftCosts costs = sync::request_costs(*item, shown.loaded->completed);
    // What the item costs over HTTP and this request does not include is why both totals differ.
    const auto add_cost = [&](const char* label, const std::optional<Money>& cost,
                              const std::optional<Money>& of_item) {
      if (cost && cost->minor_units != 0)
        add_line(lines, label, amount_on_page(call, cost));
      else if (of_item && of_item->minor_units != 0)
        add_line(lines, label, texts().text("cost_not_included", {{"cost", amount_on_page(call, of_item)}}));
    };
    add_cost("cost_of_item", costs.item, item->costs.item);
    add_cost("cost_of_shipping", costs.shipping, item->costs.shipping);
    add_cost("cost_of_carbon", costs.carbon_neutral, item->costs.carbon_neutral);
    add_cost("cost_of_transaction", costs.transaction_fee, item->costs.transaction_fee);
  }
  if (shown.loaded)
    if (const auto* at = std::get_if<UtcMillis>(&shown.loaded->row.get(F::created_date)))
      add_time(lines, "created_at", *at);
  add_line(lines, "requested_by", requester_text(shown.entry.requested_by));
  return lines;
}

}  // namespace giftsync::console
