// crm/sql: reads the old status-log object (SYNC-59) at the configured location, in the
// order of its gifts. The database aggregates the rows, so that a gift with a thousand rows costs no more
// than one with ten. Included by schema/'s .cpp files only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "crm/crm.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::crm::sql_crm {

// The location of the old status log.

/// Settings: crm.status_log. The defaults are the managed CRM's own old table.
struct StatusLogLocation {
  std::string object = "crm_status_log";  ///< a table, or SCHEMA.TABLE: letters, digits, underscores
  std::string transaction_id = "recipienttransactionid";
  std::string status = "status";
  std::string time = "createddate";
};

/// size() and spans() throw DependencyError when a column is missing or unusable.
class SqlStatusLog : public LegacyStatusLog {
 public:
  enum class Index { may_be_created, never };

  SqlStatusLog(sql::Database& database, StatusLogLocation location, Index index)
      : database_(database), location_(std::move(location)), index_(index) {}

  /// Whether there is such a table.
  bool exists();

  StatusLogSize size() override;
  /// Gives the managed CRM's own old table an index by gift. Other tables stay unchanged.
  void prepare() override;
  std::vector<StatusLogGroup> spans(TransactionId after, std::size_t limit, UtcMillis from,
                                    UtcMillis to) override;

 private:
  sql::Database& database_;
  const StatusLogLocation location_;
  const Index index_;
};

}  // namespace giftsync::crm::sql_crm
