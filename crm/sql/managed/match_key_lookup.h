// crm/sql/managed: lookups by match key: people for recipients, users for e-mail addresses. One
// statement for any number of keys. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/sql/managed/match_columns.h"
#include "crm/sql/rows_by_key.h"
#include "schema/sql/prepared_query.h"

namespace giftsync::crm::managed {

/// The fields of a lookup: the compared fields with their ids in crm_match_key_field and their names in
/// the settings.
struct PersonQuery {
  PersonObject object;
  crm::sql_crm::Column order_by;
  bool descending;
  std::vector<std::int64_t> field_ids;
  std::vector<std::string> field_names;
};

/// For each key the people who have it in one of the fields, without duplicates, ordered as in
/// crm/directory.h, at most kMaxCandidates. Beyond that, converted leads are dropped first: they never
/// match.
crm::sql_crm::RowsByKey<Candidate> people_by_match_key(sql::Database& database, const PersonQuery& query,
                                                       const std::vector<std::string>& keys);

/// For each key the users with that address, active ones first, then by id; at most kMaxCandidates.
crm::sql_crm::RowsByKey<CrmUser> users_by_match_key(sql::Database& database, std::int64_t field_id,
                                                    const std::vector<std::string>& keys);

/// An SQL expression: a person's name. A CRM fills Name itself; rows inserted by plain SQL may lack it.
std::string person_name_expression(const std::string& alias);

/// An SQL condition: the account is in the CRM and not marked as deleted. A CRM without a single account does
/// not store accounts, and then every Id passes.
std::string account_exists_condition(sql::Dialect dialect, const std::string& id);

/// The ORDER BY list: the field and direction, nulls last, then Id, so that the order is total.
std::string order_by_clause(sql::Dialect dialect, const std::string& alias,
                            const crm::sql_crm::Column& order_by, bool descending);

// Looks up people or opportunities by key, at most kMaxCandidates for each. Included by
// schema/'s .cpp files only.

/// A batch seldom finds more: the uncapped statement reads so many rows, the capped one is for the rest.
inline constexpr std::size_t kMaxUncappedRows = 5000;

/// Both statements have a list of keys as their parameter and select key, id, name and more; rows of one id
/// follow each other. `uncapped` selects at most kMaxUncappedRows + 1 rows; `capped` at most kMaxCandidates
/// for each key, once each.
struct CappedLookup {
  std::string uncapped;
  std::string capped;
  const crm::sql_crm::Column& order_by;
  bool descending;
};

/// The rows of each key in order, by key_of(key); fill(rows, row) sets the members after the name.
template <class Row, class KeyOf, class Fill>
crm::sql_crm::RowsByKey<Row> read_capped(sql::Database& database, const CappedLookup& lookup,
                                         const std::string& list, const KeyOf& key_of, const Fill& fill) {
  bool too_many = false;  // rows, or rows of one key
  const auto read = [&](const std::string& statement) {
    return database.read([&](soci::session& session) {
      sql::PreparedQuery rows(session, statement);
      crm::sql_crm::RowsByKey<Row> found;
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
        if (lookup.order_by.type == crm::sql_crm::ColumnType::number)
          added.order_value = crm::sql_crm::trim_trailing_zeros(added.order_value);
        added.order_is_text = crm::sql_crm::is_ordered_as_text(lookup.order_by);
      });
      return found;
    });
  };
  crm::sql_crm::RowsByKey<Row> found = read(lookup.uncapped);
  if (too_many) found = read(lookup.capped);
  crm::sql_crm::sort_by_text(found, lookup.order_by, lookup.descending);
  return found;
}

}  // namespace giftsync::crm::managed
