#include "schema/crm/sql_common/text_numbers.h"

#include "platform/text.h"
#include "schema/crm/number_text.h"

namespace giftsync::schema::crm::sql_common {
namespace {

constexpr int kMaxRows = 10'000;
constexpr std::size_t kMaxShownValueLength = 60;

}  // namespace

TextNumbers read_text_numbers(soci::session& session, const std::string& table, const std::string& id,
                              const std::string& column) {
  TextNumbers found;
  std::string row;
  std::string value;
  // All rows of the inner query are read, so that a large table with few values costs no more.
  soci::statement statement =
      sql::bound(session,
                 "SELECT row_id, row_value FROM (SELECT " + id + " AS row_id, " + column +
                     " AS row_value FROM " + table + " LIMIT " + std::to_string(kMaxRows) +
                     ") AS sampled WHERE row_value IS NOT NULL AND row_id IS NOT NULL",
                 soci::into(row), soci::into(value));
  sql::each_row(statement, [&] {
    const std::string_view text = platform::trimmed(value);
    if (text.empty()) return;
    ++found.values;
    if (normalize_number(text)) {
      ++found.numbers;
    } else if (found.other_id.empty()) {
      found.other_id = row;
      found.other_value = platform::truncated(text, kMaxShownValueLength);
    }
  });
  return found;
}

std::string text_order_sentence(const std::string& key, const std::string& field, const std::string& object,
                                const TextNumbers& found) {
  const bool all = found.other_id.empty();
  return key + ": " + field + " is text" +
         (all ? "" : ", because " + object + " " + found.other_id + " has \"" + found.other_value + "\"") +
         ", but " + (all ? "its values" : "most of its values") +
         " are numbers; they are ordered as text, 10 before 9";
}

}  // namespace giftsync::schema::crm::sql_common
