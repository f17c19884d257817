#include "schema/crm/managed/csv_import.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_map>

#include "platform/text.h"
#include "schema/crm/managed/csv_table.h"
#include "schema/crm/managed/match_keys.h"
#include "schema/crm/managed/typed_value.h"

namespace giftsync::schema::crm::managed {
namespace {

constexpr std::size_t kMaxBatchRows = 500;  // short transactions: a daemon beside the import writes too
constexpr std::size_t kMaxBatchBytes = 1'000'000;
constexpr std::size_t kMaxIdLength = 255;
constexpr std::size_t kMaxShownValueLength = 60;

std::string_view type_name(sql_common::ColumnType type) {
  switch (type) {
    case sql_common::ColumnType::number:
      return "number";
    case sql_common::ColumnType::date:
      return "date";
    case sql_common::ColumnType::date_time:
      return "date and time";
    case sql_common::ColumnType::checkbox:
      return "checkbox";
    case sql_common::ColumnType::text:
      break;
  }
  return "text";
}

std::string cell_count_fault(std::size_t found, std::size_t needed) {
  return "has " + std::to_string(found) + (found == 1 ? " cell" : " cells") + ", the header has " +
         std::to_string(needed);
}

class CsvImport : public RowImport {
 public:
  CsvImport(const sql::Dsn& address, ImportObject object, std::span<const std::string> header);

  std::vector<std::string> new_columns() override;
  std::string_view detected_type(std::string_view name) const override;
  void detect_types(std::span<const std::string> cells) override;
  bool add(std::size_t line, std::span<const std::string> cells) override;
  ImportResult finish() override;

 private:
  struct Pending {
    std::size_t line;
    sql_common::TextRows::Row cells;
  };
  void resolve_columns();
  /// Why the row is refused; empty when it is accepted and `row` is filled.
  std::optional<std::string> parse_row(std::size_t line, std::span<const std::string> cells,
                                       sql_common::TextRows::Row& row);
  std::optional<std::string> parse_cell(std::size_t column, const std::string& cell,
                                        std::optional<std::string>& stored);
  std::optional<std::string> check_id(std::size_t line, const std::optional<std::string>& id);
  void flush();
  /// False when a column has another type by now: the rows that still wait are to be read again.
  bool write_pending();
  bool write(std::span<const Pending> rows);
  void reparse();
  /// Why a row that was read for columns of other types is refused now.
  std::optional<std::string> reparse(const std::vector<sql_common::Column>& before,
                                     sql_common::TextRows::Row& row);
  void refuse(std::size_t line, std::string reason) { result_.refused.push_back({line, std::move(reason)}); }

  sql::Database database_;
  const std::string table_;
  std::vector<std::string> header_;  // as written, for messages
  std::vector<std::string> names_;
  std::set<std::string> standard_;  // lower case: giftsync gave them their types
  std::size_t id_index_ = 0;
  std::vector<TypeDetector> type_detectors_;
  std::vector<sql_common::Column> columns_;  // one for each header cell, once resolved
  std::unordered_map<std::string, std::size_t> line_of_id_;
  std::vector<Pending> pending_;
  std::size_t pending_bytes_ = 0;
  ImportResult result_;
};

CsvImport::CsvImport(const sql::Dsn& address, ImportObject object, std::span<const std::string> header)
    : database_(address),
      table_("crm_" + std::string(to_word(object))),
      header_(header.begin(), header.end()),
      type_detectors_(header.size()) {
  if (!import_header_faults(header).empty()) std::abort();  // a bug: the caller checks before
  for (const std::string& cell : header_) names_.push_back(import_column(cell));
  for (const std::string& name : standard_columns(object)) standard_.insert(platform::ascii_lower(name));
  id_index_ = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), "id") - names_.begin());
}

std::vector<std::string> CsvImport::new_columns() {
  const std::vector<sql_common::Column> present = database_.read(
      [&](soci::session& session) { return sql_common::columns_of(session, database_.dialect(), table_); });
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (sql_common::find_column(present, names_[i]) == nullptr)
      missing.emplace_back(platform::trimmed(header_[i]));
  }
  return missing;
}

std::string_view CsvImport::detected_type(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), import_column(name));
  if (at == names_.end()) return {};
  const TypeDetector& detector = type_detectors_[static_cast<std::size_t>(at - names_.begin())];
  return detector.has_values() ? type_name(detector.type()) : "no values yet";
}

void CsvImport::detect_types(std::span<const std::string> cells) {
  if (cells.size() != type_detectors_.size()) return;  // add() refuses the row
  for (std::size_t i = 0; i < cells.size(); ++i) type_detectors_[i].add(cells[i]);
}

void CsvImport::resolve_columns() {
  if (!columns_.empty()) return;
  std::vector<NewColumn> wanted;
  for (std::size_t i = 0; i < names_.size(); ++i)
    wanted.push_back({names_[i], type_detectors_[i].type(), !standard_.contains(names_[i])});
  const ResolvedColumns resolved = ensure_columns(database_, table_, wanted);
  result_.kept_as_text.clear();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    columns_.push_back(*find_column(resolved.all, names_[i]));
    const auto& text_columns = resolved.kept_as_text;
    if (std::find(text_columns.begin(), text_columns.end(), names_[i]) != text_columns.end())
      result_.kept_as_text.emplace_back(platform::trimmed(header_[i]));
  }
}

std::optional<std::string> CsvImport::parse_cell(std::size_t column, const std::string& cell,
                                                 std::optional<std::string>& stored) {
  if (!platform::is_storable_text(cell))
    return header_[column] + " is not UTF-8 text without NUL; save the file as UTF-8";
  if (cell.empty()) return std::nullopt;
  stored = normalize_cell(column == id_index_ ? platform::trimmed(cell) : cell, columns_[column].type,
                          database_.dialect());
  if (stored) return std::nullopt;
  return header_[column] + " holds \"" + std::string(platform::truncated(cell, kMaxShownValueLength)) +
         "\"; " + std::string(expected_format(columns_[column].type)) + " is needed";
}

std::optional<std::string> CsvImport::check_id(std::size_t line, const std::optional<std::string>& id) {
  if (!id || id->empty()) return "has no Id";
  if (platform::count_code_points(*id) > kMaxIdLength) return "has an Id of more than 255 characters";
  const auto [known, is_new] = line_of_id_.try_emplace(*id, line);
  if (is_new) return std::nullopt;
  ++result_.duplicate_ids;
  return "has the Id " + *id + ", which line " + std::to_string(known->second) + " has already";
}

std::optional<std::string> CsvImport::parse_row(std::size_t line, std::span<const std::string> cells,
                                                sql_common::TextRows::Row& row) {
  if (cells.size() != columns_.size()) return cell_count_fault(cells.size(), columns_.size());
  row.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (auto fault = parse_cell(i, cells[i], row[i])) return fault;
  }
  return check_id(line, row[id_index_]);
}

bool CsvImport::add(std::size_t line, std::span<const std::string> cells) {
  resolve_columns();
  sql_common::TextRows::Row row;
  if (auto fault = parse_row(line, cells, row)) {
    refuse(line, std::move(*fault));
    return false;
  }
  for (const std::string& cell : cells) pending_bytes_ += cell.size();
  pending_.push_back({line, std::move(row)});
  if (pending_.size() < kMaxBatchRows && pending_bytes_ < kMaxBatchBytes) return false;
  flush();
  return true;
}

bool CsvImport::write(std::span<const Pending> rows) {
  std::vector<sql_common::TextRows::Row> cells;
  cells.reserve(rows.size());
  for (const Pending& row : rows) cells.push_back(row.cells);
  const std::optional<UpsertCounts> counts = upsert_rows(database_, table_, columns_, id_index_, cells);
  if (!counts) return false;
  result_.inserted += counts->inserted;
  result_.updated += counts->updated;
  result_.unchanged += counts->unchanged;
  return true;
}

std::optional<std::string> CsvImport::reparse(const std::vector<sql_common::Column>& before,
                                              sql_common::TextRows::Row& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row[i] || columns_[i].type == before[i].type) continue;
    const std::string cell = *row[i];
    if (auto fault = parse_cell(i, cell, row[i])) return fault;
  }
  return std::nullopt;
}

void CsvImport::reparse() {
  std::vector<sql_common::Column> before;
  before.swap(columns_);
  resolve_columns();
  std::vector<Pending> accepted;
  for (Pending& row : pending_) {
    if (auto fault = reparse(before, row.cells))
      refuse(row.line, std::move(*fault));
    else
      accepted.push_back(std::move(row));
  }
  pending_.swap(accepted);
}

bool CsvImport::write_pending() {
  if (pending_.empty()) return true;
  try {
    return write(pending_);
  } catch (const sql::ConstraintViolation&) {
  }
  // One bad row never holds up the others.
  while (!pending_.empty()) {
    try {
      if (!write({&pending_.front(), 1})) return false;
    } catch (const sql::ConstraintViolation& error) {
      refuse(pending_.front().line, error.what());
    }
    pending_.erase(pending_.begin());
  }
  return true;
}

void CsvImport::flush() {
  while (!write_pending()) reparse();
  pending_.clear();
  pending_bytes_ = 0;
}

ImportResult CsvImport::finish() {
  resolve_columns();
  if (!pending_.empty()) flush();
  process_match_key_queue(database_);
  std::stable_sort(result_.refused.begin(), result_.refused.end(),
                   [](const RefusedRow& a, const RefusedRow& b) { return a.line < b.line; });
  return std::move(result_);
}

}  // namespace

std::unique_ptr<RowImport> make_csv_import(const sql::Dsn& database, ImportObject object,
                                           std::span<const std::string> header) {
  return std::make_unique<CsvImport>(database, object, header);
}

}  // namespace giftsync::schema::crm::managed
