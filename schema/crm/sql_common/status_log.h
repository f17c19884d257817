// schema/crm/sql_common: reads the old status-log object (SYNC-59) at the configured location, in the
// order of its gifts. The database aggregates the rows, so that a gift with a thousand rows costs no more
// than one with ten. Included by schema/'s .cpp files only.
#pragma once

#include <utility>
#include <vector>

#include "schema/crm/legacy_status_log.h"
#include "schema/crm/sql_common/status_log_location.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::sql_common {

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
  std::vector<StatusLogGroup> spans(TransactionId after, std::size_t limit, platform::UtcMillis from,
                                    platform::UtcMillis to) override;

 private:
  sql::Database& database_;
  const StatusLogLocation location_;
  const Index index_;
};

}  // namespace giftsync::schema::crm::sql_common
