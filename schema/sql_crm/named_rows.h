// schema/sql_crm: contacts, leads and opportunities by the Ids that request records name. Included by
// schema/'s .cpp files only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

std::vector<Person> find_people_by_id(sql::Database& database, PersonObject object,
                                      std::span<const std::string> ids);
std::vector<Opportunity> find_opportunities_by_id(sql::Database& database, std::span<const std::string> ids);

}  // namespace giftsync::schema::sql_crm
