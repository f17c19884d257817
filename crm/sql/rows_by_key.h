// crm/sql: batched lookups by key for the managed and the external CRM; maps each input to
// its result. Included by schema/'s .cpp files only.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crm/directory.h"
#include "crm/row_result.h"
#include "crm/sql/columns.h"
#include "platform/text.h"
#include "schema/ids.h"
#include "schema/sql/database.h"

namespace giftsync::crm::sql_crm {

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

// Isolates the bad rows of a batch. Rows that violate a constraint are bisected
// until the bad row is isolated.

/// The results of `write(rows)`, one per row, in as few calls as possible; each call must be a
/// transaction of its own. A row that is refused alone is `rejected` with the reason `refusal(row,
/// fault)`.
template <class Row, class Write, class Refusal>
std::vector<RowResult> bisect_upsert(std::span<const Row> rows, const Write& write, const Refusal& refusal) {
  if (rows.empty()) return {};
  try {
    return write(rows);
  } catch (const sql::ConstraintViolation& fault) {
    if (rows.size() == 1) return {{RowResult::Kind::rejected, refusal(rows.front(), fault.what()), {}}};
  }
  const std::size_t half = rows.size() / 2;
  std::vector<RowResult> results = bisect_upsert(rows.first(half), write, refusal);
  for (RowResult& result : bisect_upsert(rows.subspan(half), write, refusal))
    results.push_back(std::move(result));
  return results;
}

template <class Row, class Write>
std::vector<RowResult> bisect_upsert(std::span<const Row> rows, const Write& write) {
  return bisect_upsert(rows, write, [](const Row&, const std::string& fault) { return fault; });
}

// Sorts people and opportunities by a text field. SQL folds only ASCII letters,
// because all databases do that in the same way: SQLite's lower() folds no other letters and PostgreSQL's
// depends on the locale. The final order is made here and is the same for every database. Included by
// schema/'s .cpp files only.

/// By lower case, then by id. Rows without a text stay where SQL has sorted them: nulls last, empty texts
/// first or last.
template <class Row>
void sort_by_text(std::vector<Row>& rows, bool descending) {
  const auto has_text = [](const Row& row) { return !row.order_value.empty(); };
  const auto first = std::find_if(rows.begin(), rows.end(), has_text);
  const auto last = std::find_if_not(first, rows.end(), has_text);
  if (last - first < 2) return;
  std::vector<std::pair<std::string, Row>> keyed;
  for (auto row = first; row != last; ++row) {
    std::string key = lower_case(row->order_value);
    keyed.emplace_back(std::move(key), std::move(*row));
  }
  std::sort(keyed.begin(), keyed.end(), [descending](const auto& a, const auto& b) {
    if (a.first != b.first) return descending ? b.first < a.first : a.first < b.first;
    return a.second.id < b.second.id;
  });
  std::transform(keyed.begin(), keyed.end(), first, [](auto& one) { return std::move(one.second); });
}

/// Sorts each key's rows, which SQL has sorted by `column`. Does nothing for other types and for ids,
/// which are ordered by their bytes.
template <class Row>
void sort_by_text(RowsByKey<Row>& found, const Column& column, bool descending) {
  if (column.type != ColumnType::text || column.name == "id") return;
  for (auto& [key, rows] : found) sort_by_text(rows, descending);
}

}  // namespace giftsync::crm::sql_crm
