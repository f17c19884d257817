// crm/sql/managed: resolves the configured match fields of contacts or leads: the columns that are
// compared and the one that orders several matches. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/sql/columns.h"
#include "crm/sql/managed/match_keys.h"

namespace giftsync::crm::managed {

struct PersonMatchColumns {
  std::string object;  ///< "contact" or "lead"
  std::vector<MatchKeyField> email_fields;
  std::vector<MatchKeyField> phone_fields;
  crm::sql_crm::Column order_by;
  std::vector<std::string> faults;  ///< missing fields, a sentence each; when not empty the rest is unusable
};

/// The current columns: an import or an admin may have added one.
PersonMatchColumns find_person_match_columns(soci::session& session, PersonObject object,
                                             const MatchFields& fields);

/// Resolves matching.opportunity.order_by.
struct OpportunityOrderColumn {
  crm::sql_crm::Column order_by;
  std::vector<std::string> faults;
};
OpportunityOrderColumn find_opportunity_order_column(soci::session& session, const MatchFields& fields);

const PersonMatchFields& match_fields_of(PersonObject object, const MatchFields& fields);

// crm_match_key_field, the columns that have match keys, and crm_match_key_queue, the
// rows whose keys are out of date. Included by schema/'s .cpp files only.

struct StoredMatchKeyField {
  std::int64_t id = 0;
  MatchKeyField field;
  std::string indexed_to_id;  ///< rows up to this Id have their keys
  bool complete = false;
};

/// Null when it has no keys yet.
const StoredMatchKeyField* find(const std::vector<StoredMatchKeyField>& fields, const MatchKeyField& wanted);

std::vector<StoredMatchKeyField> load_match_key_fields(soci::session& session);

/// The first query of a lookup, one statement.
struct MatchKeyState {
  std::vector<StoredMatchKeyField> fields;
  std::optional<std::int64_t> newest_queue_id;  ///< empty when all keys are up to date
};
MatchKeyState load_match_key_state(soci::session& session);

/// Keys are read, computed and written under this lock, until the end of the transaction: a slower
/// process must not write the key of an old value.
void lock_match_keys(soci::session& session);

/// Inserts the missing ones of the wanted fields, without keys. Under the lock.
void insert_match_key_fields(soci::session& session, const std::vector<MatchKeyField>& wanted);

/// Deletes the object's fields whose columns an admin dropped, so that their keys are created again if
/// the columns return. Under the lock.
void delete_dropped_fields(soci::session& session, const std::string& object);

void save_progress(soci::session& session, const StoredMatchKeyField& field);

/// Some of the queue's oldest entries.
struct ChangedRows {
  std::map<std::string, std::set<std::string>> ids_by_object;
  std::size_t entries = 0;
};

std::optional<std::int64_t> newest_queue_id(soci::session& session);

/// The rows of the oldest queue entries up to `newest`, `limit` at most.
ChangedRows peek_queued_rows(soci::session& session, std::int64_t newest, std::size_t limit);

/// The same, and deletes the entries. They are deleted before the rows are read, so that a row that
/// changes afterwards has an entry of its own.
ChangedRows dequeue_rows(soci::session& session, std::int64_t newest, std::size_t limit);

}  // namespace giftsync::crm::managed
