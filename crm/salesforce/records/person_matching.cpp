#include "crm/salesforce/records/person_matching.h"

#include <algorithm>
#include <set>
#include <utility>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/soql.h"
#include "schema/contact_normalization.h"

namespace giftsync::salesforce {

using crm::Candidate;
using crm::CrmUser;
using crm::Opportunity;
using crm::PersonObject;
using crm::RecipientMatchKeys;

namespace {

using JsonRows = std::span<const JsonValue* const>;

Opportunity opportunity_of(const ApiNames& names, const JsonValue& row, const std::string& order_field) {
  const auto text = [&](const std::string& field) {
    const std::string name = names.field("opportunity", field);
    return name.empty() ? std::string() : text_of_value(value_at(row, "Opportunity." + name));
  };
  Opportunity found;
  found.id = text_at(row, "OpportunityId");
  found.name = text("Name");
  found.account_id = text("AccountId");
  found.stage = text("StageName");
  found.order_value = text(order_field);
  return found;
}

}  // namespace

CandidatesByKey candidates_by_key(const ApiNames& names, const PersonComparison& comparison,
                                  std::span<const JsonValue* const> rows, std::span<const std::string> keys) {
  const std::set<std::string, std::less<>> wanted(keys.begin(), keys.end());
  const std::string_view object = comparison.object == PersonObject::contact ? "contact" : "lead";
  const auto text = [&](const JsonValue& row, const std::string& field) {
    const std::string name = names.field(object, field);
    return name.empty() ? std::string() : text_of_value(value_at(row, name));
  };
  CandidatesByKey found;
  std::set<std::pair<std::string, std::string>> taken;  // key and Id
  for (const JsonValue* row : rows) {
    Candidate person;
    person.id = text(*row, "Id");
    person.name = text(*row, "Name");
    if (comparison.object == PersonObject::contact) person.account_id = text(*row, "AccountId");
    person.converted = flag_at(*row, "IsConverted");
    person.order_value = text(*row, comparison.fields.order_by.field);
    for (const std::string& field : comparison.compared) {
      const std::string key = comparison.key_of(text(*row, field), comparison.region);
      if (key.empty() || !wanted.contains(key) || !taken.emplace(key, person.id).second) continue;
      std::vector<Candidate>& people = found[key];
      if (people.size() >= crm::kMaxCandidates) continue;
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

std::vector<std::string> keys_of(std::span<const RecipientMatchKeys> recipients,
                                 std::string RecipientMatchKeys::*key,
                                 const std::vector<std::string>& compared) {
  std::vector<std::string> keys;
  if (compared.empty()) return keys;
  for (const RecipientMatchKeys& recipient : recipients) keys.push_back(recipient.*key);
  return distinct(std::move(keys));
}

OpportunitiesByContact opportunities_by_contact(const ApiNames& names, JsonRows rows,
                                                const std::string& order_field) {
  OpportunitiesByContact found;
  std::set<std::pair<std::string, std::string>> seen;  // contact and opportunity
  for (const JsonValue* row : rows) {
    const std::string contact = short_id(text_at(*row, "ContactId"));
    Opportunity opportunity = opportunity_of(names, *row, order_field);
    std::vector<Opportunity>& of_contact = found[contact];
    if (of_contact.size() >= crm::kMaxCandidates || !seen.emplace(contact, opportunity.id).second) continue;
    of_contact.push_back(std::move(opportunity));
  }
  return found;
}

CrmUser user_of(const ApiNames& names, const JsonValue& row) {
  return {text_at(row, "Id"), text_at(row, "Name"),
          text_of_value(value_at(row, names.field("user", "Email"))), flag_at(row, "IsActive", true)};
}

std::vector<std::vector<CrmUser>> users_of_keys(const ApiNames& names, JsonRows rows,
                                                std::span<const std::string> email_keys) {
  std::map<std::string, std::vector<CrmUser>> found;
  for (const JsonValue* row : rows) {
    CrmUser user = user_of(names, *row);
    std::vector<CrmUser>& of_key = found[email_key(user.email)];
    if (of_key.size() < crm::kMaxCandidates) of_key.push_back(std::move(user));
  }
  std::vector<std::vector<CrmUser>> results;
  for (const std::string& key : email_keys) {
    const auto at = key.empty() ? found.end() : found.find(key);
    results.push_back(at == found.end() ? std::vector<CrmUser>() : at->second);
  }
  return results;
}

}  // namespace giftsync::salesforce
