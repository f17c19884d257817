// crm/sql/managed: the CRM port over tables that giftsync creates (crm_001.sql, and crm_gift_record
// from kGiftFields) in the store's database. An admin may read and write them with plain SQL, and matching
// uses such rows like any other.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crm/crm.h"
#include "crm/row_reader.h"
#include "crm/sql/status_log.h"
#include "crm/tasks.h"
#include "schema/sql/dsn.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::crm::managed {

struct ManagedCrmOptions {
  sql::Dsn database;
  std::string name_space;  ///< prefix of API names in messages: "giftsync"
  MatchFields match_fields;
  crm::sql_crm::StatusLogLocation status_log = {};
  std::string integration_user =
      {};  ///< CRM user id: Last Modified By of request records that giftsync writes
  /// A lookup or a step of Directory::maintain() makes match keys of so many rows at most. A lookup with more
  /// to do throws LookupNotReady.
  std::size_t max_keyed_rows = SIZE_MAX;
};

/// Some tenths of a second. For a process that must stay responsive.
inline constexpr std::size_t kKeyedRowsPerStep = 4'000;

/// The CRM in a database that migrate_managed_crm() has prepared. Connects at the first call. Several
/// processes with different match fields may use one database at once; the first lookup by a new match
/// field creates its keys. The type of a field is read at its first lookup; when an admin changes a
/// column's type, its order changes after a restart.
std::unique_ptr<Crm> make_managed_crm(const ManagedCrmOptions& options);

/// The faults of the configured match fields, a sentence each: fields that the CRM's objects do not have.
/// Empty when they are valid. find_candidates() throws the same sentences as a non-transient
/// DependencyError.
std::vector<std::string> match_field_faults(const ManagedCrmOptions& options);

/// The order_by fields that are text although at least half of their values are numbers, which are ordered as
/// text (MATCH-33), a sentence each with the remedy. Reads some thousand rows.
std::vector<std::string> match_order_warnings(const ManagedCrmOptions& options);

/// Creates or upgrades the managed CRM's tables: one transaction per step, safe to repeat, to interrupt
/// and to run in two processes at once. Throws DependencyError when a newer giftsync made the tables.
void migrate_managed_crm(const sql::Dsn& address);

/// The CRM package version of the tables (SYNC-39): "1.8"; empty when there are none. Tables from before
/// 1.8 have no record of it; their version is detected by their columns.
std::optional<std::string> managed_crm_version(const sql::Dsn& address);

/// The version after migrate_managed_crm().
inline constexpr const char* kCrmPackageVersion = "1.8";

/// The plan of migrate_managed_crm().
struct ManagedCrmUpgradePlan {
  std::optional<std::string> version;  ///< empty: no tables
  bool recorded = false;               ///< false: detected by the tables' columns
  bool newer = false;                  ///< than this program supports: the migration would be refused
  std::vector<std::string> steps;      ///< "1.3: crm_gift_record gets account, opportunity"; empty: nothing
};
ManagedCrmUpgradePlan plan_managed_crm_upgrade(const sql::Dsn& address);

/// Writes the published settings into crm_setting, for users to read; removes other rows.
void publish_crm_settings(const sql::Dsn& address,
                          const std::vector<std::pair<std::string, std::string>>& settings);

// Reads the rows of the managed CRM's tables, with an admin's own columns. Included by
// schema/'s .cpp files only.

class ManagedRowReader : public RowReader {
 public:
  explicit ManagedRowReader(sql::Database& database) : database_(database) {}

  std::vector<std::string> objects() override { return kReadableObjects; }
  std::vector<CrmRow> page(const std::string& object, const std::string& after, std::size_t limit) override;
  std::optional<CrmRow> find(const std::string& object, const std::string& id) override;

 private:
  sql::Database& database_;
};

// Tasks in crm_task, one per gift by RecipientTransactionId (SYNC-31). Included by
// schema/'s .cpp files only.

class ManagedTasks : public Tasks {
 public:
  explicit ManagedTasks(sql::Database& database) : database_(database) {}

  std::vector<RowResult> upsert(std::span<const TaskUpsert> rows) override;
  std::vector<Task> page(TransactionId after, std::size_t limit) override;

 private:
  sql::Database& database_;
};

}  // namespace giftsync::crm::managed
