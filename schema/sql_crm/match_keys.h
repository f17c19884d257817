// schema/sql_crm: the match keys: for every e-mail and phone column that is compared, the form of its value
// under which spellings are equal (schema/address.h), kept with each row however the row got there. Triggers
// note what changed; whoever looks something up settles the notes first. Keys belong to columns, not to one
// process's settings, so that processes with different settings do not undo each other's. Included by
// schema/'s .cpp files only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

/// A column that is compared.
struct KeyField {
  std::string object;  ///< contact, lead, user: the table is crm_<object>
  enum class Kind { email, phone } kind = Kind::email;
  std::string column;
  std::string region;  ///< for phones: where numbers without a country belong
  friend bool operator==(const KeyField&, const KeyField&) = default;
};

/// Settles all notes made before the call and makes the keys of fields that have none yet, in short
/// transactions. Returns the fields' ids in crm_key_field, in the order of `wanted`. The columns must exist.
/// One cheap read when there is nothing to do. Any thread, any number of processes at once.
std::vector<std::int64_t> bring_keys_up_to_date(sql::Database& database, const std::vector<KeyField>& wanted);

/// Settles all notes made before the call, for the fields that have keys.
void settle_pending_keys(sql::Database& database);

}  // namespace giftsync::schema::sql_crm
