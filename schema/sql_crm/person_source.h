// schema/sql_crm: what the configured match fields of contacts or leads mean in the database: the columns
// that are compared and the one that decides between several people. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql_crm/columns.h"
#include "schema/sql_crm/match_keys.h"

namespace giftsync::schema::sql_crm {

struct PersonSource {
  std::string object;  ///< "contact" or "lead"
  std::vector<KeyField> email_fields;
  std::vector<KeyField> phone_fields;
  Column order_by;
  std::vector<std::string>
      faults;  ///< fields that do not exist, a sentence each; when not empty the rest is unusable
};

/// The columns as they are now: an import or an admin may have added one.
PersonSource person_source(soci::session& session, Dialect dialect, PersonObject object,
                           const MatchFields& fields);

/// What matching.opportunity.order_by means in the database.
struct OpportunitySource {
  Column order_by;
  std::vector<std::string> faults;
};
OpportunitySource opportunity_source(soci::session& session, Dialect dialect, const MatchFields& fields);

const PersonMatchFields& fields_of(PersonObject object, const MatchFields& fields);

}  // namespace giftsync::schema::sql_crm
