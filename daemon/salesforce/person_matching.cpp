#include "daemon/salesforce/person_matching.h"

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/salesforce/record_json.h"

namespace giftsync::daemon::salesforce {

using schema::crm::Candidate;
using schema::crm::PersonObject;

CandidatesByKey candidates_by_key(const ApiNames& names, const PersonComparison& comparison,
                                  std::span<const platform::JsonValue* const> rows,
                                  std::span<const std::string> keys) {
  const std::set<std::string, std::less<>> wanted(keys.begin(), keys.end());
  const std::string_view object = comparison.object == PersonObject::contact ? "contact" : "lead";
  const auto text = [&](const platform::JsonValue& row, const std::string& field) {
    const std::string name = names.field(object, field);
    return name.empty() ? std::string() : text_of_value(value_at(row, name));
  };
  CandidatesByKey found;
  std::set<std::pair<std::string, std::string>> taken;  // key and Id
  for (const platform::JsonValue* row : rows) {
    Candidate person;
    person.id = text(*row, "Id");
    person.name = text(*row, "Name");
    if (comparison.object == PersonObject::contact) person.account_id = text(*row, "AccountId");
    person.order_value = text(*row, comparison.fields.order_by.field);
    for (const std::string& field : comparison.compared) {
      const std::string key = comparison.key_of(text(*row, field), comparison.region);
      if (key.empty() || !wanted.contains(key) || !taken.emplace(key, person.id).second) continue;
      std::vector<Candidate>& people = found[key];
      if (people.size() >= schema::crm::kMaxCandidates) continue;
      people.push_back(person);
      people.back().matched_field = field;
    }
  }
  return found;
}

std::vector<std::string> distinct(std::vector<std::string> keys) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::erase(keys, std::string());
  return keys;
}

}  // namespace giftsync::daemon::salesforce
