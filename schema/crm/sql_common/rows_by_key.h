// schema/crm/sql_common: batched lookups by key for the managed and the external CRM; maps each input to
// its result. Included by schema/'s .cpp files only.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schema/crm/directory.h"
#include "schema/crm_id.h"

namespace giftsync::schema::crm::sql_common {

template <class Found>
using RowsByKey = std::map<std::string, std::vector<Found>>;

/// Without duplicates and without empty keys, which match nothing.
template <class Rows, class KeyOf>
std::vector<std::string> distinct_keys(const Rows& rows, KeyOf&& key_of) {
  std::set<std::string> keys;
  for (const auto& row : rows) keys.insert(key_of(row));
  keys.erase("");
  return {keys.begin(), keys.end()};
}
inline std::vector<std::string> distinct_keys(std::span<const std::string> keys) {
  return distinct_keys(keys, [](const std::string& key) { return key; });
}

template <class Found>
std::vector<Found> rows_for(const RowsByKey<Found>& found, const std::string& key) {
  const auto at = found.find(key);
  return at == found.end() ? std::vector<Found>() : at->second;
}

/// The rows of each key, in the order of `keys`.
template <class Found>
std::vector<std::vector<Found>> rows_for_each(const RowsByKey<Found>& found,
                                              std::span<const std::string> keys) {
  std::vector<std::vector<Found>> results;
  results.reserve(keys.size());
  for (const std::string& key : keys) results.push_back(rows_for(found, key));
  return results;
}

/// The first row of each key, in the order of `keys`.
template <class Found>
std::vector<std::optional<Found>> first_for_each(const RowsByKey<Found>& found,
                                                 std::span<const std::string> keys) {
  std::vector<std::optional<Found>> results;
  results.reserve(keys.size());
  for (const std::string& key : keys) {
    const auto at = found.find(key);
    results.push_back(at == found.end() ? std::nullopt : std::optional(at->second.front()));
  }
  return results;
}

/// Those of the asked ids that are forms of this one.
inline std::vector<std::string> asked_forms(std::span<const std::string> asked, const std::string& id) {
  std::vector<std::string> forms;
  for (const std::string& form : crm_id_forms(std::span(&id, 1))) {
    if (std::find(asked.begin(), asked.end(), form) != asked.end()) forms.push_back(form);
  }
  return forms;
}

/// One result per recipient, in their order.
inline std::vector<Candidates> candidates_for_each(std::span<const RecipientMatchKeys> recipients,
                                                   const RowsByKey<Candidate>& by_email,
                                                   const RowsByKey<Candidate>& by_phone) {
  std::vector<Candidates> results;
  results.reserve(recipients.size());
  for (const RecipientMatchKeys& keys : recipients)
    results.push_back({rows_for(by_email, keys.email_key), rows_for(by_phone, keys.phone_key)});
  return results;
}

}  // namespace giftsync::schema::crm::sql_common
