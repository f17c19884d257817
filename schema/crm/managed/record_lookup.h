// schema/crm/managed: contacts, leads and opportunities by the Ids in request records. Included by
// schema/'s .cpp files only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

std::vector<Person> read_people_by_id(sql::Database& database, PersonObject object,
                                      std::span<const std::string> ids);
std::vector<Opportunity> read_opportunities_by_id(sql::Database& database, std::span<const std::string> ids);

}  // namespace giftsync::schema::crm::managed
