// schema/sql_crm: rows of a CSV file into the managed CRM (design 5, "CSV for crm import"): upserts by Id; an
// absent column stays as it is, an empty cell becomes null, nothing is deleted. A column that the object does
// not have becomes a custom field, usable in matching and order-by: number, date or time if every value of
// the file is one, else text. The file is gone through twice: first survey(), then add(). One thread at a
// time; nothing is held of the file but its Ids.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/database_address.h"

namespace giftsync::schema {

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
std::optional<ImportObject> import_object_from_word(std::string_view word);

/// What is wrong with a header line, a sentence each: API names without prefix and suffix (letters, digits,
/// underscores), each once, case does not matter, Id among them. Empty when all is well.
std::vector<std::string> import_header_faults(std::span<const std::string> header);

/// The API names that every managed CRM has of an object, as an admin writes them; Id is the first.
std::vector<std::string> standard_columns(ImportObject object);

struct RefusedRow {
  std::size_t line = 0;
  std::string reason;
};

struct ImportResult {
  std::size_t inserted = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
  std::size_t repeated_ids = 0;     ///< of the refused ones: their Id stood on an earlier line
  std::vector<RefusedRow> refused;  ///< by line
  /// Custom fields that stay text although all their first values are of a type: an index or a view that the
  /// database's admin made stands in the way.
  std::vector<std::string> kept_text;
};

class ManagedImport {
 public:
  /// `header` has no faults. The tables must have been made by migrate_managed_crm().
  ManagedImport(const DatabaseAddress& database, ImportObject object, std::span<const std::string> header);
  ~ManagedImport();
  ManagedImport(const ManagedImport&) = delete;
  ManagedImport& operator=(const ManagedImport&) = delete;

  /// Those of the header that the object does not have yet, as written: they become custom fields.
  std::vector<std::string> new_columns();

  /// Of one of them, after survey(): "number", "date", "date and time", "text" or "no values yet".
  std::string_view new_type(std::string_view name) const;

  /// Every row, before the first add(): decides the types of new columns. Columns that were not surveyed
  /// become text. A custom text column in which no value stands yet takes the type of the first that come.
  void survey(std::span<const std::string> cells);

  /// One row; `line` is its number for refusals. A row is refused for a missing Id, an Id that stood on an
  /// earlier line, too few or too many cells, bytes that are no UTF-8 text and values that contradict their
  /// column's type, which another import of the same moment may have given it. Rows are written in
  /// transactions of some hundred; what was written stays when a later one throws BrokenWorld. True when one
  /// has just ended: a caller beside a running daemon pauses for some milliseconds, so that its writers get
  /// their turn.
  bool add(std::size_t line, std::span<const std::string> cells);

  /// Writes the last rows and brings the match keys up to date. Once; nothing is called after it.
  ImportResult finish();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace giftsync::schema
