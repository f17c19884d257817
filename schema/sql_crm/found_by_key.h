// schema/sql_crm: how both SQL CRMs, managed and foreign, look many keys up at once and give each asker its
// answer. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace giftsync::schema::sql_crm {

template <class Found>
using FoundByKey = std::map<std::string, std::vector<Found>>;

/// Without the empty ones, which match nothing, each one once.
template <class Rows, class KeyOf>
std::vector<std::string> distinct_keys(const Rows& rows, KeyOf&& key_of) {
  std::set<std::string> keys;
  for (const auto& row : rows) {
    if (!key_of(row).empty()) keys.insert(key_of(row));
  }
  return {keys.begin(), keys.end()};
}

template <class Found>
std::vector<Found> found_for(const FoundByKey<Found>& found, const std::string& key) {
  const auto at = found.find(key);
  return at == found.end() ? std::vector<Found>() : at->second;
}

}  // namespace giftsync::schema::sql_crm
