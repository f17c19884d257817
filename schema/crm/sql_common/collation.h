// schema/crm/sql_common: sorts people and opportunities by a text field. SQL folds only ASCII letters,
// because all databases do that in the same way: SQLite's lower() folds no other letters and PostgreSQL's
// depends on the locale. The final order is made here and is the same for every database. Included by
// schema/'s .cpp files only.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "platform/text.h"
#include "schema/crm/sql_common/columns.h"
#include "schema/crm/sql_common/rows_by_key.h"

namespace giftsync::schema::crm::sql_common {

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
    std::string key = platform::lower_case(row->order_value);
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

}  // namespace giftsync::schema::crm::sql_common
