// schema/foreign_crm: how a phone number ends, which is what a database without match keys can find it by:
// its last seven digits, without an extension. Included by schema/'s .cpp files only.
#pragma once

#include <string>

#include "schema/foreign_crm/mapping.h"
#include "schema/sql/database.h"

namespace giftsync::schema::foreign_crm {

/// Of a phone_key().
std::string number_end(const std::string& key);

/// The same of a number as it stands in the column, in SQL. `region` is that of numbers without a country.
/// SQLite's must be taught first.
std::string number_end_expression(Dialect dialect, const Tables& tables, const std::string& column,
                                  const std::string& region);

/// Gives SQLite's connection the function that its expression asks. May be repeated.
void teach_number_end(soci::session& session);

}  // namespace giftsync::schema::foreign_crm
