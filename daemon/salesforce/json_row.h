// daemon/salesforce: writes one row of a Collections call. Numbers are written as their digits, which a
// double would not keep. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/field_descriptor.h"

namespace giftsync::daemon::salesforce {

class JsonRow {
 public:
  /// Begins with {"attributes":{"type":"Task"}.
  explicit JsonRow(std::string_view object);

  /// A name that is empty, a field that the org does not have, adds nothing.
  void add_text(std::string_view name, std::string_view value);
  void add_number(std::string_view name, std::int64_t value);
  void add_bool(std::string_view name, bool value);
  void add_null(std::string_view name);
  /// Absent values and empty texts, which are the same in Salesforce, become null.
  void add(std::string_view name, const schema::FieldValue& value);
  /// Absent values and empty texts are left out.
  void add_if_present(std::string_view name, const schema::FieldValue& value);

  std::string text() const { return text_ + "}"; }

 private:
  void add_raw(std::string_view name, std::string_view value);
  std::string text_;
};

/// A JSON text with its quotation marks. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

/// No value, or an empty text.
bool is_absent(const schema::FieldValue& value);

}  // namespace giftsync::daemon::salesforce
