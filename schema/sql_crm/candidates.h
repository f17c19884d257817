// schema/sql_crm: the look-ups by match key: people for recipients, users for e-mail addresses. One statement
// for any number of keys. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql_crm/found_by_key.h"
#include "schema/sql_crm/person_source.h"

namespace giftsync::schema::sql_crm {

/// What people are looked up by: the compared fields with their ids in crm_key_field and their names in the
/// settings.
struct PersonQuery {
  PersonObject object;
  Column order_by;
  bool descending;
  std::vector<std::int64_t> field_ids;
  std::vector<std::string> field_names;
};

/// For each key the people who have it in one of the fields, once each, ordered as schema/crm.h says, at most
/// kMaxCandidates. When there are more, converted leads are the ones left out first: they never match.
FoundByKey<Candidate> people_by_key(sql::Database& database, const PersonQuery& query,
                                    const std::vector<std::string>& keys);

/// For each key the users with that address, active ones first, then by id; at most kMaxCandidates.
FoundByKey<CrmUser> users_by_key(sql::Database& database, std::int64_t field_id,
                                 const std::vector<std::string>& keys);

/// An SQL expression: a person's name. A CRM fills Name itself; rows that came by plain SQL may lack it.
std::string person_name(const std::string& alias);

/// An SQL condition: the account is in the CRM. A CRM without a single account does not keep accounts, and
/// then every Id passes.
std::string account_exists(const std::string& id);

/// What follows ORDER BY: the field and direction, nulls last, then Id, so that the order is total.
std::string order_terms(Dialect dialect, const std::string& alias, const Column& order_by, bool descending);

/// "80000.0" as "80000": PostgreSQL keeps the zeros that were written, SQLite does not.
std::string plain_number(std::string text);

}  // namespace giftsync::schema::sql_crm
