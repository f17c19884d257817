// schema/crm/managed: match keys: for every compared e-mail and phone column the normalized value
// (schema/contact_normalization.h), stored for each row whatever inserted the row. Triggers queue changed
// rows; a lookup first processes the queue. Keys belong to columns and not to one process's settings, so
// that processes with different settings do not undo each other's work. Included by schema/'s .cpp files
// only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

/// A column that is compared.
struct MatchKeyField {
  std::string object;  ///< contact, lead, user: the table is crm_<object>
  enum class Kind { email, phone } kind = Kind::email;
  std::string column;
  std::string region;  ///< for phones: the region of numbers without a country
  friend bool operator==(const MatchKeyField&, const MatchKeyField&) = default;
};

/// Processes all queue entries made before the call and creates the keys of fields that have none yet, in
/// short transactions. Returns the fields' ids in crm_match_key_field, in the order of `wanted`. The
/// columns must exist. One cheap read when there is nothing to do. Any thread, any number of processes at
/// once.
std::vector<std::int64_t> refresh_match_keys(sql::Database& database,
                                             const std::vector<MatchKeyField>& wanted);

/// Processes all queue entries made before the call, for the fields that have keys.
void process_match_key_queue(sql::Database& database);

}  // namespace giftsync::schema::crm::managed
