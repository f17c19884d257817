// schema/crm/managed: resolves the configured match fields of contacts or leads: the columns that are
// compared and the one that orders several matches. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "schema/crm/directory.h"
#include "schema/crm/managed/match_keys.h"
#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::managed {

struct PersonMatchColumns {
  std::string object;  ///< "contact" or "lead"
  std::vector<MatchKeyField> email_fields;
  std::vector<MatchKeyField> phone_fields;
  sql_common::Column order_by;
  std::vector<std::string> faults;  ///< missing fields, a sentence each; when not empty the rest is unusable
};

/// The current columns: an import or an admin may have added one.
PersonMatchColumns find_person_match_columns(soci::session& session, sql::Dialect dialect,
                                             PersonObject object, const MatchFields& fields);

/// Resolves matching.opportunity.order_by.
struct OpportunityOrderColumn {
  sql_common::Column order_by;
  std::vector<std::string> faults;
};
OpportunityOrderColumn find_opportunity_order_column(soci::session& session, sql::Dialect dialect,
                                                     const MatchFields& fields);

const PersonMatchFields& match_fields_of(PersonObject object, const MatchFields& fields);

}  // namespace giftsync::schema::crm::managed
