// schema/foreign_crm: whose gift is this: look-ups in somebody else's tables. There are no match keys here:
// e-mail addresses are compared by lower(trim(column)), phone numbers by their last seven digits first,
// without an extension, and as E.164 then (schema/address.h). One statement a batch and kind of field. Rows
// without an Id match nobody. Included by schema/'s .cpp files only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/foreign_crm/mapping.h"
#include "schema/sql/database.h"
#include "schema/sql_crm/found_by_key.h"

namespace giftsync::schema::foreign_crm {

using sql_crm::FoundByKey;
using Keys = std::vector<std::string>;

FoundByKey<Candidate> people_by_email(sql::Database& database, const Tables& tables, PersonObject object,
                                      const PersonMatchFields& fields, const Keys& keys);
FoundByKey<Candidate> people_by_phone(sql::Database& database, const Tables& tables, PersonObject object,
                                      const PersonMatchFields& fields, const std::string& region,
                                      const Keys& keys);
FoundByKey<Opportunity> opportunities_by_contact(sql::Database& database, const Tables& tables,
                                                 const OrderBy& order_by, const Keys& contacts);
std::vector<ConvertedLead> converted_leads(sql::Database& database, const Tables& tables, const Keys& leads);

/// Those of the ids that lead to no row of the object; none when the CRM does not have the object, or not a
/// single account or user.
std::set<std::string> missing_ids(soci::session& session, Dialect dialect, const Tables& tables,
                                  const std::string& object, const std::set<std::string>& ids);

/// The expression that an index must be over so that e-mail look-ups are quick: "lower(trim(email))".
std::string email_expression(const std::string& column);

/// The e-mail keys as addresses may be written: with an international domain in either form.
Keys spellings(const Keys& keys);

}  // namespace giftsync::schema::foreign_crm
