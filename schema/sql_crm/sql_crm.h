// schema/sql_crm: the managed SQL CRM behind the port of schema/crm.h. Its tables (crm_001.sql, and
// crm_gift_record made from kGiftFields) live in the store's database; an admin may read and write them with
// plain SQL, and matching sees such rows like any other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/crm.h"
#include "schema/database_address.h"

namespace giftsync::schema {

/// Where the old status log is (settings: crm.status_log); the defaults are the managed CRM's own old table.
struct StatusLogPlace {
  std::string object = "crm_status_log";  ///< a table, or SCHEMA.TABLE: letters, digits, underscores
  std::string transaction_id = "recipienttransactionid";
  std::string status = "status";
  std::string time = "createddate";
};

struct SqlCrmOptions {
  DatabaseAddress database;
  std::string name_space;  ///< prefix of API names where the CRM speaks of its fields: "giftsync"
  MatchFields match_fields;
  StatusLogPlace status_log = {};
  std::string integration_user = {};  ///< CRM user id: Last Modified By of requests that giftsync writes
};

/// The CRM in a database that migrate_managed_crm() has prepared. Connects with the first call. Several
/// processes, each with its own match fields, may use one database at once; keys for fields that were never
/// compared before are made by the first look-up that needs them. What type a field has is learnt with its
/// first look-up; one that an admin gives another type is ordered by it after a restart.
std::unique_ptr<Crm> make_sql_crm(const SqlCrmOptions& options);

/// What is wrong with the configured match fields, a sentence each: fields that the CRM's objects do not
/// have. Empty when all is well. find_candidates() throws the same sentences as a BrokenWorld that does not
/// pass by itself.
std::vector<std::string> match_field_faults(const SqlCrmOptions& options);

/// Makes the managed CRM's tables, or brings older ones up to date: one transaction a step, harmless to
/// repeat, to break off anywhere and to run in two processes at once. Throws BrokenWorld when the tables were
/// made by a newer giftsync.
void migrate_managed_crm(const DatabaseAddress& address);

/// The CRM package version (Spec 9) that the tables are at: "1.8"; empty when there are none. Tables from
/// before 1.8 carry no record of it and are told by their columns.
std::optional<std::string> managed_crm_version(const DatabaseAddress& address);

/// The version that migrate_managed_crm() leads to.
inline constexpr const char* kCrmPackageVersion = "1.8";

/// What migrate_managed_crm() would do.
struct ManagedCrmPlan {
  std::optional<std::string> version;  ///< empty: no tables
  bool recorded = false;               ///< false: told by the tables' columns
  bool newer = false;                  ///< than this program knows: it would be refused
  std::vector<std::string> steps;      ///< "1.3: crm_gift_record gets account, opportunity"; empty: nothing
};
ManagedCrmPlan plan_managed_crm(const DatabaseAddress& address);

/// Writes what giftsync goes by into crm_setting, for people to read; what is there besides goes.
void publish_settings(const DatabaseAddress& address,
                      const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace giftsync::schema
