// schema/foreign_crm: where each object and field of the CRM is in somebody else's tables, and how values
// travel to and from columns of their types. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema/foreign_crm/foreign_crm.h"
#include "schema/sql_crm/columns.h"

namespace giftsync::schema::foreign_crm {

using sql_crm::Column;
using sql_crm::ColumnType;

/// Names alone: what the settings and the naming rule make of them.
class Mapping {
 public:
  Mapping(Dialect dialect, ForeignNames names);

  bool has(const std::string& object) const { return !table_name(object).empty(); }
  /// "salesforce.contact"; empty when the CRM does not have the object.
  std::string table_name(const std::string& object) const;
  /// In quotes, for SQL.
  std::string table(const std::string& object) const;
  /// The column of a field; empty when the CRM does not have it. `field` is an API name; package fields of
  /// gift_record and task without prefix and suffix.
  std::string column_name(const std::string& object, const std::string& field) const;
  std::string gift_column(GiftField field) const;
  /// The columns that the table has; empty when there is no such table.
  std::vector<Column> columns(soci::session& session, const std::string& object) const;

 private:
  const Dialect dialect_;
  const ForeignNames names_;
  std::map<std::string, std::string> columns_;  ///< by "object.field" in lower case
};

/// A field that giftsync uses, and what its column must be.
struct WantedField {
  std::string object;
  std::string field;
  FieldType type;
  std::string because;  ///< the settings key that asks for it, or empty
};
/// Everything that is used with these options, fields that are left out too.
std::vector<WantedField> wanted_fields(const ForeignCrmOptions& options);

/// The gift fields that are written, in the order of kGiftFields.
std::vector<GiftField> written_gift_fields(const Mapping& mapping);

/// The mapping with the columns as the database has them.
class Tables {
 public:
  Tables(Dialect dialect, const Mapping& mapping, const ForeignCrmOptions& options, soci::session& session);

  const Mapping& mapping() const { return mapping_; }
  bool has(const std::string& object) const { return mapping_.has(object); }
  std::string table(const std::string& object) const { return mapping_.table(object); }
  /// "p."email""; "NULL" when the CRM does not have the field.
  std::string column(const std::string& alias, const std::string& object, const std::string& field) const;
  /// The column as text, an SQL expression; '' for null.
  std::string text(const std::string& alias, const std::string& object, const std::string& field) const;
  /// Null when there is none.
  const Column* type(const std::string& object, const std::string& field) const;
  /// A text cell as a value of the column's type.
  std::string cast(const std::string& cell, const std::string& object, const std::string& field) const;
  /// A gift field as text that sql_crm::value_of() reads.
  std::string gift_text(GiftField field) const;
  /// The database has every character.
  bool is_unicode() const { return is_unicode_; }

 private:
  const Dialect dialect_;
  const Mapping mapping_;
  bool is_unicode_ = true;
  std::map<std::string, std::vector<Column>> columns_;
};

/// "timestamp without time zone" holds UTC; everything else as sql_crm::as_text() says.
std::string as_text(Dialect dialect, const std::string& expression, const Column& column);

}  // namespace giftsync::schema::foreign_crm
