// crm/sql/external: parts of the statements that look up rows by Id or by e-mail address. Included by
// schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "crm/sql/external/mapping.h"
#include "crm/sql/rows_by_key.h"
#include "crm/sql/transaction_rows.h"
#include "schema/sql/database.h"

namespace giftsync::crm::external {

using Keys = std::vector<std::string>;

/// The ids that refer to no row of their object; none when the CRM does not have the object or has no
/// account or user at all.
crm::sql_crm::RowIds missing_rows(soci::session& session, const MappedTables& tables,
                                  const crm::sql_crm::RowIds& wanted);

/// A condition: the account is there; an account object that is empty, or that the CRM does not have, is not
/// checked.
std::string account_exists_condition(const MappedTables& tables, const std::string& id);

/// The ORDER BY list of an object with the alias p: the field and direction, nulls last, then Id.
std::string order_by_clause(const MappedTables& tables, const std::string& object, const OrderBy& by);

/// The expression that an index for e-mail lookups must be over.
std::string email_expression(const MappedTables& tables, const std::string& column);

/// The spellings of the e-mail keys: with an international domain in either form, also in capital letters,
/// which SQL does not fold.
Keys email_spellings(const Keys& keys);

}  // namespace giftsync::crm::external
