// schema/crm/external: the last seven digits of a phone number without an extension; a database without
// match keys is searched by them. Included by schema/'s .cpp files only.
#pragma once

#include <string>

#include "schema/crm/external/mapping.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::external {

/// Of a phone_key().
std::string phone_suffix(const std::string& key);

/// The same for a number in the column, as an SQL expression. `region` applies to numbers without a
/// country. On SQLite the function below must be registered first.
std::string phone_suffix_expression(const MappedTables& tables, const std::string& column,
                                    const std::string& region);

/// Registers the function of that expression with an SQLite connection. Idempotent.
void register_phone_suffix_udf(soci::session& session);

}  // namespace giftsync::schema::crm::external
