#include "schema/crm/managed/csv_import.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tl/expected.hpp>
#include <unordered_map>
#include <utility>

#include "platform/text.h"
#include "schema/crm/managed/column_type_change.h"
#include "schema/crm/managed/csv_table.h"
#include "schema/crm/managed/match_keys.h"
#include "schema/crm/managed/typed_value.h"
#include "schema/crm_id.h"

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

using Row = sql_common::TextRows::Row;

/// One column of the file.
struct FileColumn {
  std::string written;  // for messages
  std::string name;
  bool custom;  // giftsync gave the others their types
  TypeDetector detector = {};
};

std::vector<FileColumn> read_header(ImportObject object, std::span<const std::string> header) {
  if (!import_header_faults(header).empty()) std::abort();  // a bug: the caller checks before
  std::set<std::string> standard;
  for (const std::string& name : standard_columns(object)) standard.insert(platform::ascii_lower(name));
  std::vector<FileColumn> columns;
  for (const std::string& cell : header) {
    const std::string name = import_column(cell);
    columns.push_back({cell, name, !standard.contains(name)});
  }
  return columns;
}

/// What the rows are parsed for and written to.
struct Target {
  std::string table;
  sql::Dialect dialect;
  std::vector<std::string> header = {};          // as written, for messages
  std::vector<sql_common::Column> columns = {};  // one for each header cell
  std::vector<bool> are_ids = {};
  std::size_t id_index = 0;
  std::optional<std::size_t> deletion_mark_index = {};
  std::vector<std::string> kept_as_text = {};
};

Target resolve_target(sql::Database& database, const std::string& table,
                      const std::vector<FileColumn>& file_columns, ImportMode mode) {
  std::vector<NewColumn> wanted;
  for (const FileColumn& column : file_columns)
    wanted.push_back({column.name, column.detector.type(), column.custom});
  const ResolvedColumns resolved = mode == ImportMode::plan ? plan_columns(database, table, wanted)
                                                            : ensure_columns(database, table, wanted);
  const auto& text_columns = resolved.kept_as_text;
  Target target{table, database.dialect()};
  for (const FileColumn& column : file_columns) {
    if (column.name == "id") target.id_index = target.columns.size();
    if (column.name == "isdeleted") target.deletion_mark_index = target.columns.size();
    target.are_ids.push_back(!column.custom && column.name.ends_with("id"));
    target.header.push_back(column.written);
    target.columns.push_back(*sql_common::find_column(resolved.all, column.name));
    if (std::find(text_columns.begin(), text_columns.end(), column.name) != text_columns.end())
      target.kept_as_text.emplace_back(platform::trimmed(column.written));
  }
  return target;
}

/// The value to store, or why the cell is refused.
tl::expected<std::optional<std::string>, std::string> parse_cell(const std::string& cell, std::size_t column,
                                                                 const Target& target) {
  const std::string& name = target.header[column];
  if (!platform::is_storable_text(cell))
    return tl::unexpected(name + " is not UTF-8 text without NUL; save the file as UTF-8");
  if (cell.empty()) return std::nullopt;
  const sql_common::ColumnType type = target.columns[column].type;
  const bool is_id = target.are_ids[column];
  const std::string id = is_id ? long_crm_id(platform::trimmed(cell)) : std::string();
  auto stored = normalize_cell(is_id ? std::string_view(id) : std::string_view(cell), type, target.dialect);
  if (stored) return stored;
  return tl::unexpected(name + " holds \"" + std::string(platform::truncated(cell, kMaxShownValueLength)) +
                        "\"; " + std::string(expected_format(type)) + " is needed");
}

/// The row to store, which has an Id, or why it is refused.
tl::expected<Row, std::string> parse_row(std::span<const std::string> cells, const Target& target) {
  if (cells.size() != target.columns.size())
    return tl::unexpected("has " + std::to_string(cells.size()) + (cells.size() == 1 ? " cell" : " cells") +
                          ", the header has " + std::to_string(target.columns.size()));
  Row row;
  row.reserve(cells.size());
  for (const std::string& cell : cells) {
    auto stored = parse_cell(cell, row.size(), target);
    if (!stored) return tl::unexpected(std::move(stored.error()));
    row.push_back(std::move(*stored));
  }
  const std::optional<std::string>& id = row[target.id_index];
  if (!id || id->empty()) return tl::unexpected(std::string("has no Id"));
  if (platform::count_code_points(*id) > kMaxIdLength)
    return tl::unexpected(std::string("has an Id of more than 255 characters"));
  return row;
}

struct PendingRow {
  std::size_t line;
  Row cells;
};

std::vector<Row> cells_of(std::span<const PendingRow> rows) {
  std::vector<Row> cells;
  cells.reserve(rows.size());
  for (const PendingRow& row : rows) cells.push_back(row.cells);
  return cells;
}

void add_counts(const UpsertCounts& counts, ImportResult& result) {
  result.inserted += counts.inserted;
  result.updated += counts.updated;
  result.unchanged += counts.unchanged;
}

/// In one transaction. False when a column has another type by now: nothing is written.
bool write_rows(sql::Database& database, const Target& target, std::span<const PendingRow> rows,
                ImportResult& result) {
  const auto counts = upsert_rows(database, target.table, target.columns, target.id_index, cells_of(rows));
  if (counts) add_counts(*counts, result);
  return counts.has_value();
}

/// Returns the rows that are not written, because a column has another type by now.
std::vector<PendingRow> write_batch(sql::Database& database, const Target& target,
                                    std::span<const PendingRow> rows, ImportResult& result) {
  try {
    if (write_rows(database, target, rows, result)) return {};
    return {rows.begin(), rows.end()};
  } catch (const sql::ConstraintViolation&) {
  }
  // One bad row never holds up the others.
  for (; !rows.empty(); rows = rows.subspan(1)) {
    try {
      if (!write_rows(database, target, rows.first(1), result)) break;
    } catch (const sql::ConstraintViolation& error) {
      result.refused.push_back({rows.front().line, error.what()});
    }
  }
  return {rows.begin(), rows.end()};
}

/// Parses the values of the columns that had another type in `before`. Returns the rows that are not refused.
std::vector<PendingRow> parse_again(std::vector<PendingRow> rows, const Target& before, const Target& now,
                                    ImportResult& result) {
  std::vector<PendingRow> accepted;
  for (PendingRow& row : rows) {
    std::optional<std::string> fault;
    for (std::size_t i = 0; i < row.cells.size() && !fault; ++i) {
      if (!row.cells[i] || now.columns[i].type == before.columns[i].type) continue;
      auto stored = parse_cell(*row.cells[i], i, now);
      if (stored)
        row.cells[i] = std::move(*stored);
      else
        fault = std::move(stored.error());
    }
    if (fault)
      result.refused.push_back({row.line, std::move(*fault)});
    else
      accepted.push_back(std::move(row));
  }
  return accepted;
}

class CsvImport : public RowImport {
 public:
  CsvImport(const sql::Dsn& address, ImportObject object, std::span<const std::string> header,
            ImportMode mode)
      : database_(address),
        mode_(mode),
        table_("crm_" + std::string(to_word(object))),
        file_columns_(read_header(object, header)) {}

  std::vector<std::string> new_columns() override;
  std::string_view detected_type(std::string_view name) const override;
  void detect_types(std::size_t line, std::span<const std::string> cells) override;
  bool add(std::size_t line, std::span<const std::string> cells) override;
  ImportResult finish() override;

 private:
  Target& target();
  void flush();
  void finish_types();
  void finish_type(const FileColumn& column);
  void change_to(const FileColumn& column, sql_common::ColumnType type);
  void add_text_field(const FileColumn& column, const OtherValue& other);
  TypeDetector detect_all_values(const FileColumn& column);

  sql::Database database_;
  const ImportMode mode_;
  const std::string table_;
  std::vector<FileColumn> file_columns_;
  std::optional<Target> target_;             // once the types are detected
  std::vector<std::string> without_values_;  // the columns of the file that become text, if they had none
  std::unordered_map<std::string, std::size_t> line_of_id_;
  std::vector<PendingRow> pending_;
  std::vector<std::string> deleted_ids_;  // not deleted yet
  std::size_t pending_bytes_ = 0;
  ImportResult result_;
};

std::vector<std::string> CsvImport::new_columns() {
  const std::vector<sql_common::Column> present = database_.read(
      [&](soci::session& session) { return sql_common::columns_of(session, database_.dialect(), table_); });
  std::vector<std::string> missing;
  for (const FileColumn& column : file_columns_) {
    if (sql_common::find_column(present, column.name) == nullptr)
      missing.emplace_back(platform::trimmed(column.written));
  }
  return missing;
}

std::string_view CsvImport::detected_type(std::string_view name) const {
  const std::string wanted = import_column(name);
  for (const FileColumn& column : file_columns_) {
    if (column.name == wanted)
      return column.detector.has_values() ? type_name(column.detector.type()) : "no values yet";
  }
  return {};
}

void CsvImport::detect_types(std::size_t line, std::span<const std::string> cells) {
  if (cells.size() != file_columns_.size()) return;  // add() refuses the row
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (file_columns_[i].custom) file_columns_[i].detector.add(cells[i], line);
  }
}

Target& CsvImport::target() {
  if (target_) return *target_;
  std::vector<std::string> mixed;
  for (const FileColumn& column : file_columns_) {
    if (column.detector.text_cause()) mixed.push_back(column.name);
  }
  if (!mixed.empty()) without_values_ = columns_without_values(database_, table_, mixed);
  return target_.emplace(resolve_target(database_, table_, file_columns_, mode_));
}

bool CsvImport::add(std::size_t line, std::span<const std::string> cells) {
  const auto refuse = [&](std::string reason) {
    result_.refused.push_back({line, std::move(reason)});
    return false;
  };
  auto row = parse_row(cells, target());
  if (!row) return refuse(std::move(row.error()));
  const std::string id = row->at(target_->id_index).value();
  if (const auto [known, is_new] = line_of_id_.try_emplace(id, line); !is_new) {
    ++result_.duplicate_ids;
    return refuse("has the Id " + id + ", which line " + std::to_string(known->second) + " has already");
  }
  if (target_->deletion_mark_index && sql_common::is_deletion_mark(cells[*target_->deletion_mark_index])) {
    deleted_ids_.push_back(id);
  } else {
    for (const std::string& cell : cells) pending_bytes_ += cell.size();
    pending_.push_back({line, std::move(*row)});
  }
  if (pending_.size() + deleted_ids_.size() < kMaxBatchRows && pending_bytes_ < kMaxBatchBytes) return false;
  flush();
  return true;
}

void CsvImport::flush() {
  if (mode_ == ImportMode::plan && !pending_.empty()) {
    add_counts(plan_rows(database_, table_, target_->columns, target_->id_index, cells_of(pending_)),
               result_);
    pending_.clear();
  }
  while (!pending_.empty()) {
    pending_ = write_batch(database_, *target_, pending_, result_);
    if (pending_.empty()) break;
    const Target before = std::exchange(*target_, resolve_target(database_, table_, file_columns_, mode_));
    pending_ = parse_again(std::move(pending_), before, *target_, result_);
  }
  pending_bytes_ = 0;
  if (deleted_ids_.empty()) return;
  result_.deleted += deleted_ids_.size();
  result_.removed += delete_rows(database_, table_, deleted_ids_, mode_ == ImportMode::plan);
  deleted_ids_.clear();
}

/// Of the table's values as the file leaves them: of the rows that it does not write, and its own.
TypeDetector CsvImport::detect_all_values(const FileColumn& column) {
  const bool planned = mode_ == ImportMode::plan;
  const auto skipped = [&](const std::string& id) { return planned && line_of_id_.contains(id); };
  TypeDetector all = database_.read(
      [&](soci::session& session) { return detect_stored_type(session, table_, column.name, skipped); });
  if (planned) all.merge(column.detector);
  return all;
}

void CsvImport::add_text_field(const FileColumn& column, const OtherValue& other) {
  const bool is_new =
      std::find(without_values_.begin(), without_values_.end(), column.name) != without_values_.end();
  result_.text_fields.push_back(
      {std::string(platform::trimmed(column.written)), type_name(other.most), other.line, other.id,
       std::string(platform::truncated(other.value, kMaxShownValueLength)), is_new});
}

void CsvImport::change_to(const FileColumn& column, sql_common::ColumnType type) {
  const std::string field(platform::trimmed(column.written));
  TypeChangeOutcome outcome = TypeChangeOutcome::done;
  if (mode_ == ImportMode::write) outcome = change_type_of_values(database_, table_, column.name, type);
  if (outcome == TypeChangeOutcome::done) result_.type_changes.push_back({field, type_name(type)});
  if (outcome == TypeChangeOutcome::prevented) target_->kept_as_text.push_back(field);
}

void CsvImport::finish_type(const FileColumn& column) {
  if (column.detector.type() == sql_common::ColumnType::text && column.detector.has_values()) {
    if (const auto cause = column.detector.text_cause()) add_text_field(column, *cause);
    return;
  }
  const TypeDetector all = detect_all_values(column);
  if (all.type() != sql_common::ColumnType::text)
    change_to(column, all.type());
  else if (const auto cause = all.text_cause())
    add_text_field(column, *cause);
}

/// A custom text column that the file has: it takes the type of all its values, or the result names the value
/// that prevents it.
void CsvImport::finish_types() {
  const std::vector<sql_common::Column> present = database_.read(
      [&](soci::session& session) { return sql_common::columns_of(session, database_.dialect(), table_); });
  for (const FileColumn& column : file_columns_) {
    const auto& prevented = target_->kept_as_text;
    const bool is_prevented =
        std::find(prevented.begin(), prevented.end(), platform::trimmed(column.written)) != prevented.end();
    if (!column.custom || is_prevented) continue;
    const sql_common::Column* now = sql_common::find_column(present, column.name);
    const sql_common::Column* planned = sql_common::find_column(target_->columns, column.name);
    if (!now && planned->type == sql_common::ColumnType::text && column.detector.text_cause())
      add_text_field(column, *column.detector.text_cause());
    if (now && now->sql_type == "text" && planned->type == sql_common::ColumnType::text) finish_type(column);
  }
}

ImportResult CsvImport::finish() {
  target();
  flush();
  finish_types();
  if (mode_ == ImportMode::write) process_match_key_queue(database_, SIZE_MAX);
  std::stable_sort(result_.refused.begin(), result_.refused.end(),
                   [](const RefusedRow& a, const RefusedRow& b) { return a.line < b.line; });
  result_.kept_as_text = std::move(target_->kept_as_text);
  return std::move(result_);
}

}  // namespace

std::unique_ptr<RowImport> make_csv_import(const sql::Dsn& database, ImportObject object,
                                           std::span<const std::string> header, ImportMode mode) {
  return std::make_unique<CsvImport>(database, object, header, mode);
}

}  // namespace giftsync::schema::crm::managed
