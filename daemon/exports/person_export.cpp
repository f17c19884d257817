#include "daemon/exports/person_export.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "daemon/exports/gift_detail.h"

namespace giftsync::exports {
namespace {

using sync::PersonData;

constexpr int kIndent = 2;

/// The request records of the CRM that are about the person, open or closed.
std::vector<std::string> crm_requests_of(const PersonData& person) {
  std::vector<std::string> requests = person.open_crm_requests;
  requests.insert(requests.end(), person.crm_requests.begin(), person.crm_requests.end());
  return requests;
}

Json rows_json(crm::Crm& crm, const std::string& object, const std::vector<std::string>& ids) {
  Json rows = Json::array();
  for (const std::string& id : ids) {
    const auto row = crm.rows()->find(object, id);
    if (!row) continue;
    Json& json = rows.emplace_back(Json{{"Id", row->id}});
    for (const auto& [field, value] : row->fields) json[field] = value ? Json(*value) : Json(nullptr);
  }
  return rows;
}

/// Null where giftsync does not keep the CRM.
Json crm_json(crm::Crm& crm, const PersonData& person) {
  if (!person.has_crm) return nullptr;
  Json records = Json::array();
  for (const GiftRecord& record : crm.gift_records().find(person.records))
    records.push_back(gift_record_json(record));
  return {{"contacts", rows_json(crm, "contact", person.contacts)},
          {"leads", rows_json(crm, "lead", person.leads)},
          {"gift_records", std::move(records)},
          {"request_records", rows_json(crm, "request_record", crm_requests_of(person))}};
}

Json entries_json(const PersonData& person) {
  Json entries = Json::array();
  for (const store::DoNotSendEntry& entry : person.entries)
    entries.push_back({{"pattern", entry.pattern},
                       {"reason", to_word(entry.reason)},
                       {"added_at", json_time(entry.added_at)},
                       {"added_by", entry.added_by},
                       {"expires_at", json_time(entry.expires_at)},
                       {"transaction_id", entry.transaction ? Json(entry.transaction->value) : Json(nullptr)},
                       {"comment", text_or_null(entry.comment)}});
  return entries;
}

Json texts_json(const std::vector<store::PersonText>& found) {
  Json texts = Json::array();
  for (const store::PersonText& text : found)
    texts.push_back({{"table", text.table}, {"column", text.column}, {"row", text.key}, {"text", text.text}});
  return texts;
}

}  // namespace

std::vector<TransactionId> gifts_of(const PersonData& person) {
  std::vector<TransactionId> gifts = person.open;
  gifts.insert(gifts.end(), person.busy.begin(), person.busy.end());
  gifts.insert(gifts.end(), person.closed.begin(), person.closed.end());
  std::sort(gifts.begin(), gifts.end());
  return gifts;
}

std::vector<std::string> other_roles(store::Store& store, const PersonData& person) {
  std::vector<std::string> roles;
  if (store.accounts.find_by_email(person.address_key)) roles.emplace_back("account");
  if (store.console_users.find_by_email(person.address_key)) roles.emplace_back("console user");
  return roles;
}

std::vector<store::PersonText> texts_of(store::Store& store, const PersonData& person) {
  const auto place_of = [](const store::PersonText& text) {
    return std::tuple(text.table, text.column, text.key, text.text);
  };
  std::vector<store::PersonText> texts = person.texts;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> places;
  for (const store::PersonText& text : texts) places.insert(place_of(text));
  const std::vector<TransactionId> gifts = gifts_of(person);
  for (store::PersonText& text : store.person_traces.texts_about(gifts, crm_requests_of(person)))
    if (places.insert(place_of(text)).second) texts.push_back(std::move(text));
  std::ranges::move(store.person_traces.kept_ids(person.address_key), std::back_inserter(texts));
  return texts;
}

std::string person_crm_json(crm::Crm& crm, const PersonData& person) {
  return json_text(crm_json(crm, person), kIndent);
}

std::string person_json(store::Store& store, crm::Crm& crm, const PersonData& person,
                        const std::string& currency, const std::string& crm_left_out) {
  Json gifts = Json::array();
  for (const TransactionId gift : gifts_of(person))
    if (const auto detail = find_gift_detail(store, crm, gift, crm_left_out))
      gifts.push_back(gift_detail_json(*detail, currency));
  Json erased = Json::array();
  for (const TransactionId gift : person.erased) erased.push_back(gift.value);
  return json_text({{"address", person.address_key},
                    {"gifts", std::move(gifts)},
                    {"erased_gifts", std::move(erased)},
                    {"do_not_send", entries_json(person)},
                    {"texts", texts_json(texts_of(store, person))},
                    {"open_requests", person.open_requests},
                    {"crm", crm_json(crm, person)},
                    {"also", other_roles(store, person)}},
                   kIndent);
}

}  // namespace giftsync::exports
