// crm/sql/external: maps the CRM's objects and fields to external tables and columns, and converts
// values to and from their column types. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "crm/sql/columns.h"
#include "crm/sql/external/external_crm.h"

namespace giftsync::crm::external {

using crm::sql_crm::Column;
using crm::sql_crm::ColumnType;

/// The names only, from the settings and the naming rule.
class Mapping {
 public:
  explicit Mapping(ExternalCrmNames names);

  bool has(const std::string& object) const { return !table_name(object).empty(); }
  /// "salesforce.contact"; empty when the CRM does not have the object.
  std::string table_name(const std::string& object) const;
  /// Quoted for SQL.
  std::string table(const std::string& object) const;
  /// The column of a field; empty when the CRM does not have it. `field` is an API name; package fields
  /// of gift_record and task without prefix and suffix.
  std::string column_name(const std::string& object, const std::string& field) const;
  std::string gift_column(GiftField field) const;
  /// The table's columns; empty when there is no such table.
  std::vector<crm::sql_crm::Column> columns(soci::session& session, const std::string& object) const;

 private:
  const ExternalCrmNames names_;
  std::map<std::string, std::string> columns_;  ///< by "object.field" in lower case
};

/// The field with which copies of a CRM mark rows that were deleted or merged there (SYNC-42).
inline constexpr const char* kDeletionMark = "IsDeleted";

/// A field that giftsync uses, and the requirements for its column.
struct UsedField {
  std::string object;
  std::string field;
  FieldType type;
  std::string required_by;  ///< the settings key that requires it, or empty
};
/// All fields that these options use, also fields that are mapped to "-".
std::vector<UsedField> used_fields(const ExternalCrmOptions& options);

/// The gift fields that are written, in the order of kGiftFields.
std::vector<GiftField> written_gift_fields(const Mapping& mapping);

/// The mapping with the columns that exist in the database.
class MappedTables {
 public:
  MappedTables(const Mapping& mapping, soci::session& session);

  sql::Dialect dialect() const { return dialect_; }
  const Mapping& mapping() const { return mapping_; }
  bool has(const std::string& object) const { return mapping_.has(object); }
  std::string table(const std::string& object) const { return mapping_.table(object); }
  /// "p."email""; "NULL" when the CRM does not have the field.
  std::string column(const std::string& alias, const std::string& object, const std::string& field) const;
  /// The column as text, an SQL expression; '' for null.
  std::string text(const std::string& alias, const std::string& object, const std::string& field) const;
  /// Null when there is none.
  const crm::sql_crm::Column* type(const std::string& object, const std::string& field) const;
  /// A text cell as a value of the column's type.
  std::string cast(const std::string& cell, const std::string& object, const std::string& field) const;
  /// A condition: the row is not marked as deleted. "true" when the object has no column for IsDeleted.
  std::string not_deleted(const std::string& alias, const std::string& object) const;
  /// "contact p WHERE ...": the object's rows that are not marked as deleted, as p.
  std::string rows(const std::string& object) const {
    return table(object) + " p WHERE " + not_deleted("p", object);
  }
  /// A gift field as text that value_of() parses.
  std::string gift_text(GiftField field) const;
  /// The database can store every Unicode character.
  bool is_unicode() const { return is_unicode_; }

 private:
  const sql::Dialect dialect_;
  const Mapping mapping_;
  bool is_unicode_ = true;
  std::map<std::string, std::vector<crm::sql_crm::Column>> columns_;
};

/// "timestamp without time zone" holds UTC; everything else as crm::sql_crm::as_text() says.
std::string as_text(sql::Dialect dialect, const std::string& expression, const crm::sql_crm::Column& column);

}  // namespace giftsync::crm::external
