// schema/crm/sql_common: the location of the old status log.
#pragma once

#include <string>

namespace giftsync::schema::crm::sql_common {

/// Settings: crm.status_log. The defaults are the managed CRM's own old table.
struct StatusLogLocation {
  std::string object = "crm_status_log";  ///< a table, or SCHEMA.TABLE: letters, digits, underscores
  std::string transaction_id = "recipienttransactionid";
  std::string status = "status";
  std::string time = "createddate";
};

}  // namespace giftsync::schema::crm::sql_common
