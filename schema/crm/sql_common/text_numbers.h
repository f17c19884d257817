// schema/crm/sql_common: tells whether a text column holds numbers, which are ordered as text then
// (MATCH-33). Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <string>

#include "schema/sql/database.h"

namespace giftsync::schema::crm::sql_common {

struct TextNumbers {
  std::size_t values = 0;
  std::size_t numbers = 0;
  std::string other_id = {};  ///< of the first row that has another value; empty when all are numbers
  std::string other_value = {};

  bool are_mostly_numbers() const { return numbers > 0 && numbers * 2 >= values; }
};

/// Of some thousand rows. `id` and `column` are SQL expressions of text.
TextNumbers read_text_numbers(soci::session& session, const std::string& table, const std::string& id,
                              const std::string& column);

/// "KEY: FIELD is text, because contact 003X has "high", but most of its values are numbers; they are ordered
/// as text, 10 before 9".
std::string text_order_sentence(const std::string& key, const std::string& field, const std::string& object,
                                const TextNumbers& found);

}  // namespace giftsync::schema::crm::sql_common
