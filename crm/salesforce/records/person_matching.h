// crm/salesforce: gives the rows of people and opportunities to the keys that asked for them. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/salesforce/calls/api_names.h"
#include "platform/strict_json.h"

namespace giftsync::salesforce {

using CandidatesByKey = std::map<std::string, std::vector<crm::Candidate>, std::less<>>;

/// How a key is compared: the fields in the order of the settings, and the key of a field's text.
struct PersonComparison {
  crm::PersonObject object = crm::PersonObject::contact;
  const crm::PersonMatchFields& fields;
  const std::vector<std::string>& compared;
  std::string (*key_of)(const std::string& text, const std::string& region);
  const std::string& region;
};

/// The rows in their order under each of their keys that is in `keys`, at most kMaxCandidates each.
CandidatesByKey candidates_by_key(const ApiNames& names, const PersonComparison& comparison,
                                  std::span<const JsonValue* const> rows, std::span<const std::string> keys);

/// The different keys, without empty ones.
std::vector<std::string> distinct(std::vector<std::string> keys);

/// The different keys of recipients, of one kind; none when no field is compared with them.
std::vector<std::string> keys_of(std::span<const crm::RecipientMatchKeys> recipients,
                                 std::string crm::RecipientMatchKeys::*key,
                                 const std::vector<std::string>& compared);

/// By short_id() of the contact, in the order of the rows of roles, at most kMaxCandidates each.
using OpportunitiesByContact = std::map<std::string, std::vector<crm::Opportunity>>;
OpportunitiesByContact opportunities_by_contact(const ApiNames& names, std::span<const JsonValue* const> rows,
                                                const std::string& order_field);

crm::CrmUser user_of(const ApiNames& names, const JsonValue& row);

/// For each key the users with that address in the order of the rows, at most kMaxCandidates.
std::vector<std::vector<crm::CrmUser>> users_of_keys(const ApiNames& names,
                                                     std::span<const JsonValue* const> rows,
                                                     std::span<const std::string> email_keys);

}  // namespace giftsync::salesforce
