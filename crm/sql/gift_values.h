// crm/sql: converts the values of a gift record between SQL text and the model. Included by
// schema/'s .cpp files only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "schema/gift_record.h"
#include "schema/sql/database.h"

namespace giftsync::crm::sql_crm {

/// A value as the text that is cast to the column's type; empty when absent.
std::optional<std::string> text_of(const FieldValue& value);

/// The value of a field from the text of read_expression(); absent when the text is no valid value.
FieldValue value_of(const FieldDescriptor& field, const std::string& text);

/// The texts of a record's fields, in the order of kGiftFields.
using GiftTexts = std::array<std::optional<std::string>, kGiftFieldCount>;
/// An invalid value is recorded as unreadable.
GiftRecord gift_record_of(const GiftTexts& texts);

/// The records of a query with one parameter that selects the version and GiftTexts.
template <class... Parameters>
std::vector<GiftRecord> select_gifts(soci::session& session, const std::string& query,
                                     const Parameters&... parameters) {
  std::vector<GiftRecord> records;
  long long version = 0;
  GiftTexts texts;
  soci::statement statement(session);
  statement.exchange(soci::into(version));
  for (std::optional<std::string>& text : texts) statement.exchange(soci::into(text));
  (statement.exchange(soci::use(parameters)), ...);
  statement.alloc();
  statement.prepare(query, sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] { records.emplace_back(gift_record_of(texts)).version = version; });
  return records;
}

}  // namespace giftsync::crm::sql_crm
