// crm/sql/external: the CRM port over SQL tables that giftsync neither creates nor changes, such as a
// replicated Salesforce schema (ARCH-32). Names come from the settings; giftsync reads rows and writes
// only gift records and tasks. Rows may have no Id yet (the replication adds it): they match nothing, and
// a task waits until its gift record has one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crm/crm.h"
#include "crm/external_names.h"
#include "crm/sql/status_log.h"
#include "schema/sql/dsn.h"

namespace giftsync::crm::external {

/// The names from the settings. An object is one of contact, lead, account, opportunity,
/// opportunity_contact_role, user, task, gift_record, permission_set_assignment. The last one has no
/// table unless it is named: Salesforce's own replication has the permission set's id, not its name.
struct ExternalCrmNames {
  std::string name_space;  ///< of package fields: "ns" for ns__Delivered_Date_Time__c
  std::string schema;      ///< of tables without one of their own; may be empty
  std::string id_column = "id";
  std::map<std::string, std::string> tables;  ///< object to table; "-": this CRM does not have the object
  std::map<std::string, std::string>
      columns;  ///< "contact.Email" to column; "-": this CRM does not have the field
};

/// Fields of tasks that only some settings fill.
inline constexpr const char* kTaskDescription = "Description";
inline constexpr const char* kDueDate = "ActivityDate";

struct ExternalCrmOptions {
  sql::Dsn database;
  ExternalCrmNames names;
  MatchFields match_fields;
  bool tasks = false;
  /// The newest version of each of the transactions that the store knows. An external table has no
  /// version column; therefore this is called while the gift records are locked, so that an older
  /// version is never written.
  std::function<std::vector<std::pair<TransactionId, std::int64_t>>(std::span<const TransactionId>)>
      newest_versions;
  crm::sql_crm::StatusLogLocation status_log = {};  ///< a table of this database
  std::vector<std::string> task_fields = {};        ///< of kTaskDescription and kDueDate those that tasks get
  bool account_owners = false;                      ///< tasks are assigned to them
};

std::unique_ptr<Crm> make_external_crm(const ExternalCrmOptions& options);

struct ExternalCrmReport {
  /// Everything that is missing, unusable or not permitted; each fault names its settings key.
  std::vector<std::string> faults;
  std::vector<std::string>
      command_warnings;                     ///< missing rights that only some commands need, with their GRANT
  std::vector<std::string> slow_lookups;    ///< lookups that scan whole tables
  std::vector<std::string> order_warnings;  ///< numbers that are ordered as text (MATCH-33)
  std::vector<std::string> deletion_marks;  ///< of each object, by which column rows count as deleted
};
/// Checks all mapped tables and columns, and the user's rights. Throws DependencyError when the database
/// does not respond.
ExternalCrmReport check_external_crm(const ExternalCrmOptions& options);

// Rows of the gift record's table that belong to no gift.

/// Those whose Transaction Id is not an integer from 1 to kMaxId: no other query returns them.
std::int64_t count_invalid_transaction_ids(const ExternalCrmOptions& options);

}  // namespace giftsync::crm::external
