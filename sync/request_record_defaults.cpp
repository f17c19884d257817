#include "sync/request_record_defaults.h"

#include <map>
#include <set>

#include "platform/text.h"

namespace giftsync::sync {
namespace {

using F = schema::RequestRecordField;

/// The contacts or leads that `field` of these rows names, by Id.
std::map<std::string, schema::crm::Person> named_persons(schema::crm::RequestRecords& records,
                                                         schema::crm::PersonObject object, F field,
                                                         const std::vector<schema::RequestRecord>& rows) {
  std::set<std::string> wanted;
  for (const schema::RequestRecord& row : rows) wanted.insert(row.text(field));
  wanted.erase("");
  std::map<std::string, schema::crm::Person> persons;
  if (wanted.empty()) return persons;
  const std::vector<std::string> ids(wanted.begin(), wanted.end());
  for (schema::crm::Person& one : records.find_persons(object, ids)) persons.emplace(one.id, std::move(one));
  return persons;
}

/// `person` is the contact or lead, null when there is none.
schema::RequestRecord with_defaults(schema::RequestRecord record, const schema::crm::Person* person) {
  if (record.text(F::sender).empty() && !record.text(F::created_by).empty())
    record.set(F::sender, record.text(F::created_by));
  if (person == nullptr) return record;
  if (platform::trimmed(record.text(F::recipient_email)).empty())
    record.set(F::recipient_email, person->email);
  if (record.text(F::recipient_first_name).empty() && record.text(F::recipient_last_name).empty()) {
    record.set(F::recipient_first_name, person->first_name);
    record.set(F::recipient_last_name, person->last_name);
  }
  return record;
}

}  // namespace

std::vector<LoadedRequestRecord> load_with_defaults(schema::crm::RequestRecords& records,
                                                    std::vector<schema::RequestRecord> rows) {
  const auto contacts =
      named_persons(records, schema::crm::PersonObject::contact, F::recipient_contact, rows);
  const auto leads = named_persons(records, schema::crm::PersonObject::lead, F::recipient_lead, rows);
  std::vector<LoadedRequestRecord> loaded;
  for (schema::RequestRecord& row : rows) {
    const std::string contact = row.text(F::recipient_contact);
    const std::string person = contact.empty() ? row.text(F::recipient_lead) : contact;
    const auto& persons = contact.empty() ? leads : contacts;
    const auto found = persons.find(person);
    const bool is_found = found != persons.end();
    schema::RequestRecord completed = with_defaults(row, is_found ? &found->second : nullptr);
    loaded.push_back({std::move(row), std::move(completed), is_found || person.empty()});
  }
  return loaded;
}

}  // namespace giftsync::sync
