// schema/crm/managed: looks up people or opportunities by key, at most kMaxCandidates for each. Included by
// schema/'s .cpp files only.
#pragma once

#include <string>

#include "schema/crm/sql_common/collation.h"
#include "schema/sql/prepared_query.h"

namespace giftsync::schema::crm::managed {

/// A batch seldom finds more: the uncapped statement reads so many rows, the capped one is for the rest.
inline constexpr std::size_t kMaxUncappedRows = 5000;

/// Both statements have a list of keys as their parameter and select key, id, name and more; rows of one id
/// follow each other. `uncapped` selects at most kMaxUncappedRows + 1 rows; `capped` at most kMaxCandidates
/// for each key, once each.
struct CappedLookup {
  std::string uncapped;
  std::string capped;
  const sql_common::Column& order_by;
  bool descending;
};

/// The rows of each key in order, by key_of(key); fill(rows, row) sets the members after the name.
template <class Row, class KeyOf, class Fill>
sql_common::RowsByKey<Row> read_capped(sql::Database& database, const CappedLookup& lookup,
                                       const std::string& list, const KeyOf& key_of, const Fill& fill) {
  bool too_many = false;  // rows, or rows of one key
  const auto read = [&](const std::string& statement) {
    return database.read([&](soci::session& session) {
      sql::PreparedQuery rows(session, statement);
      sql_common::RowsByKey<Row> found;
      std::size_t count = 0;
      too_many = false;
      rows.each_row({list}, [&] {
        std::vector<Row>& of_key = found[key_of(rows.text(0))];
        too_many = too_many || ++count > kMaxUncappedRows || of_key.size() == kMaxCandidates;
        if (!of_key.empty() && of_key.back().id == rows.text(1)) return;
        Row& added = of_key.emplace_back();
        added.id = rows.text(1);
        added.name = rows.text(2);
        fill(rows, added);
        if (lookup.order_by.type == sql_common::ColumnType::number)
          added.order_value = sql_common::trim_trailing_zeros(added.order_value);
        added.order_is_text = sql_common::is_ordered_as_text(lookup.order_by);
      });
      return found;
    });
  };
  sql_common::RowsByKey<Row> found = read(lookup.uncapped);
  if (too_many) found = read(lookup.capped);
  sql_common::sort_by_text(found, lookup.order_by, lookup.descending);
  return found;
}

}  // namespace giftsync::schema::crm::managed
