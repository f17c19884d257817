// schema/crm/managed: lookups by match key: people for recipients, users for e-mail addresses. One
// statement for any number of keys. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "schema/crm/directory.h"
#include "schema/crm/managed/match_columns.h"
#include "schema/crm/sql_common/rows_by_key.h"

namespace giftsync::schema::crm::managed {

/// The fields of a lookup: the compared fields with their ids in crm_match_key_field and their names in
/// the settings.
struct PersonQuery {
  PersonObject object;
  sql_common::Column order_by;
  bool descending;
  std::vector<std::int64_t> field_ids;
  std::vector<std::string> field_names;
};

/// For each key the people who have it in one of the fields, without duplicates, ordered as in
/// schema/crm/directory.h, at most kMaxCandidates. Beyond that, converted leads are dropped first: they never
/// match.
sql_common::RowsByKey<Candidate> people_by_match_key(sql::Database& database, const PersonQuery& query,
                                                     const std::vector<std::string>& keys);

/// For each key the users with that address, active ones first, then by id; at most kMaxCandidates.
sql_common::RowsByKey<CrmUser> users_by_match_key(sql::Database& database, std::int64_t field_id,
                                                  const std::vector<std::string>& keys);

/// An SQL expression: a person's name. A CRM fills Name itself; rows inserted by plain SQL may lack it.
std::string person_name_expression(const std::string& alias);

/// An SQL condition: the account is in the CRM and not marked as deleted. A CRM without a single account does
/// not store accounts, and then every Id passes.
std::string account_exists_condition(sql::Dialect dialect, const std::string& id);

/// The ORDER BY list: the field and direction, nulls last, then Id, so that the order is total.
std::string order_by_clause(sql::Dialect dialect, const std::string& alias,
                            const sql_common::Column& order_by, bool descending);

}  // namespace giftsync::schema::crm::managed
