// schema/crm/sql_common: batched lookups by key for the managed and the external CRM; maps each input to
// its result. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace giftsync::schema::crm::sql_common {

template <class Found>
using RowsByKey = std::map<std::string, std::vector<Found>>;

/// Without duplicates and without empty keys, which match nothing.
template <class Rows, class KeyOf>
std::vector<std::string> distinct_keys(const Rows& rows, KeyOf&& key_of) {
  std::set<std::string> keys;
  for (const auto& row : rows) {
    if (!key_of(row).empty()) keys.insert(key_of(row));
  }
  return {keys.begin(), keys.end()};
}

template <class Found>
std::vector<Found> rows_for(const RowsByKey<Found>& found, const std::string& key) {
  const auto at = found.find(key);
  return at == found.end() ? std::vector<Found>() : at->second;
}

}  // namespace giftsync::schema::crm::sql_common
