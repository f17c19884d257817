// schema/sql_crm: open opportunities through contact roles, and where converted leads went. One statement for
// any number of contacts or leads. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql_crm/columns.h"

namespace giftsync::schema::sql_crm {

/// For each contact its open opportunities, ordered as schema/crm.h says. One whose IsClosed is not set is
/// open.
std::map<std::string, std::vector<Opportunity>> opportunities_by_contact(
    sql::Database& database, const Column& order_by, bool descending,
    const std::vector<std::string>& contact_ids);

std::vector<ConvertedLead> read_converted_leads(sql::Database& database,
                                                const std::vector<std::string>& lead_ids);

}  // namespace giftsync::schema::sql_crm
