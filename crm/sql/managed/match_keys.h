// crm/sql/managed: match keys: for every compared e-mail and phone column the normalized value
// (schema/contact_normalization.h), stored for each row whatever inserted the row. Triggers queue changed
// rows; a lookup first processes the queue. Keys belong to columns and not to one process's settings, so
// that processes with different settings do not undo each other's work. Included by schema/'s .cpp files
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::crm::managed {

/// A column that is compared.
struct MatchKeyField {
  std::string object;  ///< contact, lead, user: the table is crm_<object>
  enum class Kind { email, phone } kind = Kind::email;
  std::string column;
  std::string region;  ///< for phones: the region of numbers without a country
  friend bool operator==(const MatchKeyField&, const MatchKeyField&) = default;
};

/// The column by which senders are found.
inline const MatchKeyField kUserEmail{"user", MatchKeyField::Kind::email, "email", ""};

/// Processes all queue entries made before the call and creates the keys of fields that have none yet, in
/// short transactions, of about `max_rows` rows. Returns the fields' ids in crm_match_key_field, in the order
/// of `wanted`; nothing when there is more to do. The columns must exist. One cheap read when there is
/// nothing to do. Any thread, any number of processes at once.
std::optional<std::vector<std::int64_t>> refresh_match_keys(sql::Database& database,
                                                            const std::vector<MatchKeyField>& wanted,
                                                            std::size_t max_rows);

/// Processes queue entries made before the call, about `max_rows` of them, for the fields that have keys.
/// Returns false when there are more.
bool process_match_key_queue(sql::Database& database, std::size_t max_rows);

}  // namespace giftsync::crm::managed
