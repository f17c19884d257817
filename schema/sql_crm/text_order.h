// schema/sql_crm: people and opportunities in the order of a text field. SQL folds ASCII letters alone, since
// that is what all databases do alike: beyond them SQLite's lower() knows no letters and PostgreSQL's those
// of the database's locale. So what SQL has found is put in its last order here, the same for every database.
// Included by schema/'s .cpp files only.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "schema/sql_crm/columns.h"
#include "schema/sql_crm/found_by_key.h"
#include "schema/text.h"

namespace giftsync::schema::sql_crm {

/// By lower case, then by id. Rows without a text stay at the end where SQL has put them: nulls last, an
/// empty text before or behind all others.
template <class Row>
void order_by_text(std::vector<Row>& rows, bool descending) {
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

/// Each key's rows, which SQL has put in the order of `column`. Nothing to do for other types, nor for ids,
/// which are ordered by their bytes.
template <class Row>
void order_by_text(FoundByKey<Row>& found, const Column& column, bool descending) {
  if (column.type != ColumnType::text || column.name == "id") return;
  for (auto& [key, rows] : found) order_by_text(rows, descending);
}

}  // namespace giftsync::schema::sql_crm
