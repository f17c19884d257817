// schema/crm/external: lookups of recipients in external tables. There are no match keys: e-mail addresses
// are compared by lower(trim(column)), phone numbers first by their last seven digits without an extension
// and then as E.164 (schema/contact_normalization.h). One statement per batch and kind of field. Rows
// without an Id match nothing. Included by schema/'s .cpp files only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/crm/external/mapping.h"
#include "schema/crm/sql_common/rows_by_key.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::external {

using sql_common::RowsByKey;
using Keys = std::vector<std::string>;

sql_common::RowsByKey<Candidate> people_by_email(sql::Database& database, const MappedTables& tables,
                                                 PersonObject object, const PersonMatchFields& fields,
                                                 const Keys& keys);
sql_common::RowsByKey<Candidate> people_by_phone(sql::Database& database, const MappedTables& tables,
                                                 PersonObject object, const PersonMatchFields& fields,
                                                 const std::string& region, const Keys& keys);
sql_common::RowsByKey<Opportunity> opportunities_by_contact(sql::Database& database,
                                                            const MappedTables& tables,
                                                            const OrderBy& order_by, const Keys& contacts);
std::vector<ConvertedLead> find_converted_leads(sql::Database& database, const MappedTables& tables,
                                                const Keys& leads);

/// The ids that refer to no row of the object; none when the CRM does not have the object or has no
/// account or user at all.
std::set<std::string> missing_ids(soci::session& session, sql::Dialect dialect, const MappedTables& tables,
                                  const std::string& object, const std::set<std::string>& ids);

/// The expression that an index for e-mail lookups must be over: "lower(trim(email))".
std::string email_expression(const std::string& column);

/// The spellings of the e-mail keys: with an international domain in either form.
Keys email_spellings(const Keys& keys);

}  // namespace giftsync::schema::crm::external
