#include "sync/request/request_record_to_gift_request.h"

#include <array>
#include <map>
#include <set>

#include "platform/text.h"
#include "schema/ids.h"
#include "sync/gift/gift_actions.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;

std::string trimmed(const std::string& text) {
  return std::string(giftsync::trimmed(text));
}

std::array<F, kRequestRecordFieldCount> all_fields() {
  std::array<F, kRequestRecordFieldCount> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = static_cast<F>(i);
  return fields;
}

}  // namespace

store::GiftCosts request_costs(const store::GiftItem& item, const RequestRecord& record) {
  store::GiftCosts costs = item.costs;
  const auto exclude_unless_checked = [&](F field, std::optional<Money>& cost) {
    if (cost && !record.checkbox(field).value_or(false)) cost = Money{};
  };
  exclude_unless_checked(F::include_shipping, costs.shipping);
  exclude_unless_checked(F::include_carbon_neutral_cost, costs.carbon_neutral);
  return costs;
}

std::string approved_content_of(const RequestRecord& completed) {
  return format_values(completed, approval_bound_fields());
}

std::string format_request_record(const RequestRecord& completed) {
  return format_values(completed, all_fields());
}

RequestRecord parse_request_record(const std::string& id, const std::string& record_text) {
  RequestRecord record;
  record.id = id;
  parse_values(record_text, all_fields(), record);
  return record;
}

std::optional<GiftId> parse_gift_id(const std::string& text) {
  const auto number = giftsync::parse_number<std::int64_t>(text);
  const bool is_id = number && *number >= 1 && *number <= kMaxId;
  return is_id ? std::optional(GiftId{*number}) : std::nullopt;
}

std::optional<GiftId> gift_id_of(const RequestRecord& record) {
  return parse_gift_id(trimmed(record.text(F::gift_id)));
}

std::optional<SendMode> send_mode_of(const std::string& send_type) {
  const std::string word = ascii_lower(giftsync::trimmed(send_type));
  if (word.empty() || word == "email" || word == "e-mail") return SendMode::email;
  for (const std::string_view link : {"link", "links", "url", "urls", "redemption url"}) {
    if (word == link) return SendMode::urls;
  }
  return std::nullopt;
}

namespace {

std::optional<std::string> campaign_of(const RequestRecord& record) {
  std::string campaign = trimmed(record.text(F::utm_campaign_id));
  return campaign.empty() ? std::nullopt : std::optional(std::move(campaign));
}

}  // namespace

store::NewGiftRequest make_gift_request(const RequestRecord& record, const store::GiftItem& item,
                                        const store::Account& account, UtcMillis now) {
  store::GiftItem ordered = item;
  ordered.costs = request_costs(item, record);
  if (const std::string description = record.text(F::gift_item_description); !description.empty())
    ordered.description = description;
  const auto id_in = [&](F field) { return long_crm_id(record.text(field)); };
  return new_gift_request(
      {.sender = account,
       .item = ordered,
       .mode = send_mode_of(record.text(F::send_type)).value_or(SendMode::email),
       .recipients = {{trimmed(record.text(F::recipient_email)),
                       trimmed(record.text(F::recipient_first_name)),
                       trimmed(record.text(F::recipient_last_name)), record.text(F::message)}},
       .triggered_by = record.text(F::created_by),
       .utm_campaign_id = campaign_of(record),
       .request_record =
           store::RequestRecordLink{record.id, 0, id_in(F::recipient_contact), id_in(F::recipient_lead),
                                    id_in(F::account), id_in(F::opportunity), id_in(F::sender)}},
      now);
}

namespace {

/// The contacts or leads that `field` of these rows names, by Id.
std::map<std::string, crm::Person> named_persons(crm::RequestRecords& records, crm::PersonObject object,
                                                 F field, const std::vector<RequestRecord>& rows) {
  std::set<std::string> wanted;
  for (const RequestRecord& row : rows) wanted.insert(row.text(field));
  wanted.erase("");
  std::map<std::string, crm::Person> persons;
  if (wanted.empty()) return persons;
  const std::vector<std::string> ids(wanted.begin(), wanted.end());
  for (crm::Person& person : records.find_persons(object, ids)) persons.emplace(person.id, std::move(person));
  return persons;
}

/// `person` is the contact or lead, null when there is none.
RequestRecord with_defaults(RequestRecord record, const crm::Person* person) {
  if (record.text(F::sender).empty() && !record.text(F::created_by).empty())
    record.set(F::sender, record.text(F::created_by));
  if (person == nullptr) return record;
  if (giftsync::trimmed(record.text(F::recipient_email)).empty())
    record.set(F::recipient_email, person->email);
  if (record.text(F::recipient_first_name).empty() && record.text(F::recipient_last_name).empty()) {
    record.set(F::recipient_first_name, person->first_name);
    record.set(F::recipient_last_name, person->last_name);
  }
  return record;
}

}  // namespace

std::vector<LoadedRequestRecord> load_with_defaults(crm::RequestRecords& records,
                                                    std::vector<RequestRecord> rows) {
  const auto contacts = named_persons(records, crm::PersonObject::contact, F::recipient_contact, rows);
  const auto leads = named_persons(records, crm::PersonObject::lead, F::recipient_lead, rows);
  std::vector<LoadedRequestRecord> loaded;
  for (RequestRecord& row : rows) {
    const std::string contact = row.text(F::recipient_contact);
    const std::string person = contact.empty() ? row.text(F::recipient_lead) : contact;
    const auto& persons = contact.empty() ? leads : contacts;
    const auto found = persons.find(person);
    const bool is_found = found != persons.end();
    RequestRecord completed = with_defaults(row, is_found ? &found->second : nullptr);
    loaded.push_back({std::move(row), std::move(completed), is_found || person.empty()});
  }
  return loaded;
}

}  // namespace giftsync::sync
