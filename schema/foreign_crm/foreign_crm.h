// schema/foreign_crm: an SQL CRM that someone else owns (design 2), behind the port of schema/crm.h: tables
// of a database that giftsync neither makes nor changes, such as a replicated Salesforce schema. Names come
// from the settings; rows are read and gift records and tasks are written, nothing else. Rows may have no Id
// yet (it comes with the replication): they match nobody, and a task waits until its gift record has one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schema/crm.h"
#include "schema/database_address.h"
#include "schema/sql_crm/sql_crm.h"

namespace giftsync::schema {

/// What the settings say of names. An object is one of contact, lead, account, opportunity,
/// opportunity_contact_role, user, task, gift_record, permission_set_assignment. The last one has no table
/// unless it is named: a replication of Salesforce's own has the permission set's id, not its name.
struct ForeignNames {
  std::string name_space;  ///< of package fields: "ns" for ns__Delivered_Date_Time__c
  std::string schema;      ///< of tables without one of their own; may be empty
  std::string id_column = "id";
  std::map<std::string, std::string> tables;   ///< object to table; "-": this CRM does not have it
  std::map<std::string, std::string> columns;  ///< "contact.Email" to column; "-": it does not have it
};

struct ForeignCrmOptions {
  DatabaseAddress database;
  ForeignNames names;
  MatchFields match_fields;
  bool tasks = false;
  /// The newest version of each of the transactions that our own store knows. A foreign table has no column
  /// for a version, so it is asked while the gift records are locked: an older one is never written.
  std::function<std::vector<std::pair<TransactionId, std::int64_t>>(std::span<const TransactionId>)> newest;
  StatusLogPlace status_log = {};  ///< a table of this database
};

std::unique_ptr<Crm> make_foreign_crm(const ForeignCrmOptions& options);

struct ForeignCrmReport {
  /// Everything that is missing, unusable or not allowed; each names its settings key.
  std::vector<std::string> faults;
  std::vector<std::string> of_commands;  ///< rights that only some commands miss, with their GRANT
  std::vector<std::string> slow;         ///< look-ups that read whole tables
};
/// Looks at all mapped tables and columns, and at the user's rights there. Throws BrokenWorld when the
/// database does not answer.
ForeignCrmReport check_foreign_crm(const ForeignCrmOptions& options);

/// Why a mapped name is none: letters, digits and underscores, not beginning with a digit; a table may have
/// its schema before a dot. Empty when it is good; "-" is.
std::string foreign_name_fault(const std::string& name, bool is_table);

/// The objects by their names in the settings.
extern const std::vector<std::string> kForeignObjects;

}  // namespace giftsync::schema
