// schema/crm/sql_common: converts the values of a gift record between SQL text and the model. Included by
// schema/'s .cpp files only.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "schema/gift_record.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::sql_common {

/// A value as the text that is cast to the column's type; empty when absent.
std::optional<std::string> text_of(const FieldValue& value);

/// The value of a field from the text of read_expression(); absent when the text is no valid value.
FieldValue value_of(const FieldDescriptor& field, const std::string& text);

/// A record's fields as they are fetched, in the order of kGiftFields.
class FetchedGift {
 public:
  void bind(soci::statement& statement);
  /// Of the current row; an invalid value is recorded as unreadable.
  GiftRecord record() const;

 private:
  std::array<std::optional<std::string>, kGiftFieldCount> texts_;
};

}  // namespace giftsync::schema::crm::sql_common
