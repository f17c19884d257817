// crm/sql/external: the external database with its mapped tables. Any thread. Included by schema/'s .cpp
// files only.
#pragma once

#include <mutex>
#include <optional>

#include "crm/sql/external/mapping.h"
#include "schema/sql/database.h"

namespace giftsync::crm::external {

class ExternalDatabase {
 public:
  explicit ExternalDatabase(const ExternalCrmOptions& options)
      : database_(options.database), mapping_(options.names) {}

  const Mapping& mapping() const { return mapping_; }
  sql::Database& database() { return database_; }

  /// The columns as of the first call; check_external_crm() has checked them before.
  const MappedTables& tables() {
    const std::lock_guard lock(mutex_);
    if (!tables_) database_.read([&](soci::session& session) { tables_.emplace(mapping_, session); });
    return *tables_;
  }

  /// work(session, tables) in a read transaction.
  template <class Work>
  auto read(Work&& work) {
    const MappedTables& mapped = tables();
    return database_.read([&](soci::session& session) { return work(session, mapped); });
  }

  /// work(session, tables) in a transaction that excludes other writers of gift records and tasks.
  template <class Work>
  auto write(Work&& work) {
    const MappedTables& mapped = tables();
    return database_.write([&](soci::session& session) {
      // SQLite: BEGIN IMMEDIATE has done it.
      if (sql::Dialect(session) == sql::Dialect::postgresql)
        session << "SELECT pg_advisory_xact_lock(hashtext('giftsync gift records'))";
      return work(session, mapped);
    });
  }

 private:
  sql::Database database_;
  const Mapping mapping_;
  std::mutex mutex_;
  std::optional<MappedTables> tables_;  // guarded by mutex_ until it is there
};

}  // namespace giftsync::crm::external
