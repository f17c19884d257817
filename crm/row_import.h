// crm: the import of rows into a CRM that takes some (SYNC-36): upserts by Id; an absent column stays
// unchanged, an empty cell becomes null, and only a row whose IsDeleted is true is deleted. A column that the
// object does not have becomes a custom field, usable in matching and order-by: number, date or time if every
// value of the file is one, else text; a custom text field becomes one of these once all its values are
// (SYNC-37). The rows are read twice: first detect_types(), then add(). One thread at a time; only the file's
// Ids are kept in memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync::crm {

enum class ImportObject {
  contact,
  lead,
  account,
  opportunity,
  opportunity_contact_role,
  user,
  permission_set_assignment
};
std::string_view to_word(ImportObject object);
std::optional<ImportObject> parse_import_object(std::string_view word);

/// The name of a header cell: trimmed, without a byte order mark, lower case.
std::string import_column(std::string_view header_cell);

/// The faults of a header line, a sentence each: API names without prefix and suffix (letters, digits,
/// underscores), each once, case ignored, Id among them. Empty when it is valid.
std::vector<std::string> import_header_faults(std::span<const std::string> header);

/// The API names of an object's standard fields, as an admin writes them; Id is the first.
std::vector<std::string> standard_columns(ImportObject object);

struct RefusedRow {
  std::size_t line = 0;
  std::string reason;
};

enum class ImportMode {
  write,
  plan  ///< tells what an import would do, and writes nothing; the database's own constraints are not asked
};

/// A custom field that is text although at least half of its values have another type.
struct TextField {
  std::string field;
  std::string_view most;  ///< what the others are: "number", "date" or "date and time"
  std::size_t line = 0;   ///< of the file, of the first value that is none; 0: it is a row of the CRM
  std::string id;         ///< the row's, when it is one of the CRM
  std::string value;
  bool is_new = false;  ///< the field had no values before
};

/// A custom text field all of whose values have this type by now.
struct TypeChange {
  std::string field;
  std::string_view type;  ///< "number", "date" or "date and time"
};

struct ImportResult {
  std::size_t inserted = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
  std::size_t deleted = 0;          ///< rows whose IsDeleted is true: they are not stored
  std::size_t removed = 0;          ///< rows of the CRM that were removed because of them
  std::size_t duplicate_ids = 0;    ///< of the refused ones: their Id was on an earlier line
  std::vector<RefusedRow> refused;  ///< by line
  /// Custom fields that stay text although all their values have another type: an index or a view that the
  /// admin created prevents the conversion.
  std::vector<std::string> kept_as_text;
  std::vector<TextField> text_fields;
  std::vector<TypeChange> type_changes;
};

class RowImport {
 public:
  virtual ~RowImport() = default;

  /// The columns of the header that the object does not have yet, unmodified: they become custom
  /// fields.
  virtual std::vector<std::string> new_columns() = 0;

  /// The column's type, after detect_types(): "number", "date", "date and time", "text" or "no values yet".
  virtual std::string_view detected_type(std::string_view name) const = 0;

  /// To be called for every row before the first add(): decides the types of new columns. Columns
  /// without detection become text. A custom text column without values takes the type of its first
  /// values. `line` is the row's number.
  virtual void detect_types(std::size_t line, std::span<const std::string> cells) = 0;

  /// Adds one row; `line` is its number for refusals. Refused are a row without an Id, an Id of an
  /// earlier line, too few or too many cells, bytes that are no UTF-8 text, and values that contradict
  /// their column's type, which a concurrent import may have set. Rows are written in transactions of
  /// some hundred; written rows stay when a later one throws DependencyError. Returns true after each
  /// transaction: a caller beside a running daemon then pauses for some milliseconds, so that the
  /// daemon can write.
  virtual bool add(std::size_t line, std::span<const std::string> cells) = 0;

  /// Writes the last rows, changes the types of text columns whose values all have another one, and updates
  /// the match keys. To be called once, as the last call.
  virtual ImportResult finish() = 0;
};

}  // namespace giftsync::crm
