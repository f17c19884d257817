// schema/crm/managed: open opportunities through contact roles, and the results of lead conversions. One
// statement for any number of contacts or leads. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::managed {

/// For each contact its open opportunities, ordered as in schema/crm/crm.h. An opportunity with a null
/// IsClosed is open.
std::map<std::string, std::vector<Opportunity>> opportunities_by_contact(
    sql::Database& database, const sql_common::Column& order_by, bool descending,
    const std::vector<std::string>& contact_ids);

std::vector<ConvertedLead> read_converted_leads(sql::Database& database,
                                                const std::vector<std::string>& lead_ids);

}  // namespace giftsync::schema::crm::managed
