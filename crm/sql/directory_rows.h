// crm/sql: fetches the rows of users, permission sets and converted leads. The caller's query
// has one list of keys as its parameter. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/sql/rows_by_key.h"
#include "schema/sql/database.h"

namespace giftsync::crm::sql_crm {

/// The query selects id, name, e-mail address, and 1 or 0 for active.
std::vector<CrmUser> read_users(sql::Database& database, const std::string& query, const std::string& list);
/// By the long form of the Id.
RowsByKey<CrmUser> by_id(const std::vector<CrmUser>& users);

/// An SQL expression: the expiration of an assignment as text, '' when it has none.
std::string expiration_expression(const std::string& column, const std::string& as_text);
/// By the long form of the user's Id. The query selects user, permission set, 1 or 0 for active, and
/// expiration_expression(). An unreadable expiration counts as long expired, so that a typing error grants no
/// right to send.
RowsByKey<PermissionSetAssignment> read_assignments(sql::Database& database, const std::string& query,
                                                    const std::string& list);

/// The query selects the Ids of contacts and their accounts; one result for each of `contact_ids`, as
/// Directory::find_accounts_of_contacts returns them.
std::vector<std::optional<std::string>> read_accounts(sql::Database& database, const std::string& query,
                                                      const std::string& list,
                                                      std::span<const std::string> contact_ids);

/// Likewise the Ids of accounts and their owners, for Directory::find_account_owners.
std::vector<std::string> read_account_owners(sql::Database& database, const std::string& query,
                                             const std::string& list,
                                             std::span<const std::string> account_ids);

/// The query selects lead, contact, 1 or 0 for whether the contact exists, its name and account. A lead has
/// its Id as `lead_ids` have it.
std::vector<ConvertedLead> read_converted_leads(sql::Database& database, const std::string& query,
                                                const std::string& list,
                                                std::span<const std::string> lead_ids);

}  // namespace giftsync::crm::sql_crm
