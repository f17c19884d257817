// schema/sql_crm: crm_key_field, the columns that have match keys, and the notes of crm_pending_key that say
// which rows' keys are out of date. Included by schema/'s .cpp files only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/sql_crm/match_keys.h"

namespace giftsync::schema::sql_crm {

struct StoredField {
  std::int64_t id = 0;
  KeyField field;
  std::string built_to;  ///< rows up to this Id have their keys
  bool complete = false;
};

/// Null when it has no keys yet.
const StoredField* find(const std::vector<StoredField>& fields, const KeyField& wanted);

std::vector<StoredField> stored_fields(soci::session& session);

/// What a look-up asks first, in one statement.
struct KeyState {
  std::vector<StoredField> fields;
  std::optional<std::int64_t> newest_note;  ///< empty when all keys are up to date
};
KeyState key_state(soci::session& session);

/// Keys are read, computed and written under this lock, held to the transaction's end: a slower process must
/// not put an old value's key back.
void lock_keys(soci::session& session, Dialect dialect);

/// Enters those of the wanted fields that are not there, without keys so far. Under the lock.
void enter_fields(soci::session& session, const std::vector<KeyField>& wanted);

/// Forgets the object's fields whose columns an admin dropped, so that their keys are made anew if they come
/// back. Under the lock.
void forget_lost_fields(soci::session& session, Dialect dialect, const std::string& object);

void save_progress(soci::session& session, const StoredField& field);

/// The Ids of changed rows of each object.
using ChangedRows = std::map<std::string, std::set<std::string>>;

std::optional<std::int64_t> newest_note(soci::session& session);

/// The rows of the oldest notes up to `newest`, some hundreds at a time.
ChangedRows read_notes(soci::session& session, std::int64_t newest);

/// The same, and the notes are gone. They go before the rows are read, so that a row which changes again
/// after the reading keeps a note of its own.
ChangedRows take_notes(soci::session& session, std::int64_t newest);

}  // namespace giftsync::schema::sql_crm
