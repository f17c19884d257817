// daemon/salesforce: hands the rows of people to the keys that asked for them. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "platform/strict_json.h"
#include "schema/crm/directory.h"

namespace giftsync::daemon::salesforce {

using CandidatesByKey = std::map<std::string, std::vector<schema::crm::Candidate>, std::less<>>;

/// How a key is compared: the fields in the order of the settings, and the key of a field's text.
struct PersonComparison {
  schema::crm::PersonObject object = schema::crm::PersonObject::contact;
  const schema::crm::PersonMatchFields& fields;
  const std::vector<std::string>& compared;
  std::string (*key_of)(const std::string& text, const std::string& region);
  const std::string& region;
};

/// The rows in their order under each of their keys that is in `keys`, at most kMaxCandidates each.
CandidatesByKey candidates_by_key(const ApiNames& names, const PersonComparison& comparison,
                                  std::span<const platform::JsonValue* const> rows,
                                  std::span<const std::string> keys);

/// The different keys, without empty ones.
std::vector<std::string> distinct(std::vector<std::string> keys);

}  // namespace giftsync::daemon::salesforce
