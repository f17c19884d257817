#include "schema/sql_crm/managed_import.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_map>

#include "schema/sql_crm/import_cell.h"
#include "schema/sql_crm/import_table.h"
#include "schema/sql_crm/match_keys.h"
#include "schema/text.h"

namespace giftsync::schema {
namespace {

using namespace sql_crm;

constexpr std::size_t kBatchRowsMax = 500;  // short transactions: a daemon beside the import writes too
constexpr std::size_t kBatchBytesMax = 1'000'000;
constexpr std::size_t kIdLengthMax = 255;
constexpr std::size_t kShownValueMax = 60;

std::string_view type_word(ColumnType type) {
  switch (type) {
    case ColumnType::number:
      return "number";
    case ColumnType::date:
      return "date";
    case ColumnType::date_time:
      return "date and time";
    case ColumnType::checkbox:
      return "checkbox";
    case ColumnType::text:
      break;
  }
  return "text";
}

std::string cells_fault(std::size_t found, std::size_t needed) {
  return "has " + std::to_string(found) + (found == 1 ? " cell" : " cells") + ", the header has " +
         std::to_string(needed);
}

}  // namespace

class ManagedImport::Work {
 public:
  Work(const DatabaseAddress& address, ImportObject object, std::span<const std::string> header);

  std::vector<std::string> new_columns();
  std::string_view new_type(std::string_view name) const;
  void survey(std::span<const std::string> cells);
  bool add(std::size_t line, std::span<const std::string> cells);
  ImportResult finish();

 private:
  struct Pending {
    std::size_t line;
    TextRows::Row cells;
  };
  void settle_columns();
  /// Why the row is refused; empty when it is good and `row` is filled.
  std::optional<std::string> read_row(std::size_t line, std::span<const std::string> cells,
                                      TextRows::Row& row);
  std::optional<std::string> read_cell(std::size_t column, const std::string& cell,
                                       std::optional<std::string>& stored);
  std::optional<std::string> check_id(std::size_t line, const std::optional<std::string>& id);
  void flush();
  /// False when a column has another type by now: the rows that still wait are to be read again.
  bool write_pending();
  bool write(std::span<const Pending> rows);
  void read_again();
  /// Why a row that was read for columns of other types is refused now.
  std::optional<std::string> read_again(const std::vector<Column>& before, TextRows::Row& row);
  void refuse(std::size_t line, std::string reason) { result_.refused.push_back({line, std::move(reason)}); }

  sql::Database database_;
  const std::string table_;
  std::vector<std::string> header_;  // as written, for messages
  std::vector<std::string> names_;
  std::set<std::string> standard_;  // lower case: giftsync gave them their types
  std::size_t id_at_ = 0;
  std::vector<TypeSurvey> surveys_;
  std::vector<Column> columns_;  // one for each header cell, once settled
  std::unordered_map<std::string, std::size_t> line_of_id_;
  std::vector<Pending> pending_;
  std::size_t pending_bytes_ = 0;
  ImportResult result_;
};

ManagedImport::Work::Work(const DatabaseAddress& address, ImportObject object,
                          std::span<const std::string> header)
    : database_(address),
      table_("crm_" + std::string(to_word(object))),
      header_(header.begin(), header.end()),
      surveys_(header.size()) {
  if (!import_header_faults(header).empty()) std::abort();  // a bug: the caller asks before
  for (const std::string& cell : header_) names_.push_back(column_name(cell));
  for (const std::string& name : standard_columns(object)) standard_.insert(ascii_lower(name));
  id_at_ = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), "id") - names_.begin());
}

std::vector<std::string> ManagedImport::Work::new_columns() {
  const std::vector<Column> present = database_.read(
      [&](soci::session& session) { return columns_of(session, database_.dialect(), table_); });
  std::vector<std::string> lacking;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (find_column(present, names_[i]) == nullptr) lacking.emplace_back(trimmed(header_[i]));
  }
  return lacking;
}

std::string_view ManagedImport::Work::new_type(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), column_name(name));
  if (at == names_.end()) return {};
  const TypeSurvey& survey = surveys_[static_cast<std::size_t>(at - names_.begin())];
  return survey.has_values() ? type_word(survey.type()) : "no values yet";
}

void ManagedImport::Work::survey(std::span<const std::string> cells) {
  if (cells.size() != surveys_.size()) return;  // add() refuses the row
  for (std::size_t i = 0; i < cells.size(); ++i) surveys_[i].add(cells[i]);
}

void ManagedImport::Work::settle_columns() {
  if (!columns_.empty()) return;
  std::vector<NewColumn> wanted;
  for (std::size_t i = 0; i < names_.size(); ++i)
    wanted.push_back({names_[i], surveys_[i].type(), !standard_.contains(names_[i])});
  const SettledColumns settled = with_columns(database_, table_, wanted);
  result_.kept_text.clear();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    columns_.push_back(*find_column(settled.all, names_[i]));
    const auto& kept = settled.kept_text;
    if (std::find(kept.begin(), kept.end(), names_[i]) != kept.end())
      result_.kept_text.emplace_back(trimmed(header_[i]));
  }
}

std::optional<std::string> ManagedImport::Work::read_cell(std::size_t column, const std::string& cell,
                                                          std::optional<std::string>& stored) {
  if (!is_storable_text(cell))
    return header_[column] + " is not UTF-8 text without NUL; save the file as UTF-8";
  if (cell.empty()) return std::nullopt;
  stored = stored_cell(column == id_at_ ? trimmed(cell) : cell, columns_[column].type, database_.dialect());
  if (stored) return std::nullopt;
  return header_[column] + " holds \"" + std::string(truncated(cell, kShownValueMax)) + "\"; " +
         std::string(expectation(columns_[column].type)) + " is needed";
}

std::optional<std::string> ManagedImport::Work::check_id(std::size_t line,
                                                         const std::optional<std::string>& id) {
  if (!id || id->empty()) return "has no Id";
  if (count_code_points(*id) > kIdLengthMax) return "has an Id of more than 255 characters";
  const auto [known, is_new] = line_of_id_.try_emplace(*id, line);
  if (is_new) return std::nullopt;
  ++result_.repeated_ids;
  return "has the Id " + *id + ", which line " + std::to_string(known->second) + " has already";
}

std::optional<std::string> ManagedImport::Work::read_row(std::size_t line, std::span<const std::string> cells,
                                                         TextRows::Row& row) {
  if (cells.size() != columns_.size()) return cells_fault(cells.size(), columns_.size());
  row.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (auto fault = read_cell(i, cells[i], row[i])) return fault;
  }
  return check_id(line, row[id_at_]);
}

bool ManagedImport::Work::add(std::size_t line, std::span<const std::string> cells) {
  settle_columns();
  TextRows::Row row;
  if (auto fault = read_row(line, cells, row)) {
    refuse(line, std::move(*fault));
    return false;
  }
  for (const std::string& cell : cells) pending_bytes_ += cell.size();
  pending_.push_back({line, std::move(row)});
  if (pending_.size() < kBatchRowsMax && pending_bytes_ < kBatchBytesMax) return false;
  flush();
  return true;
}

bool ManagedImport::Work::write(std::span<const Pending> rows) {
  std::vector<TextRows::Row> cells;
  cells.reserve(rows.size());
  for (const Pending& row : rows) cells.push_back(row.cells);
  const std::optional<UpsertCounts> counts = upsert_rows(database_, table_, columns_, id_at_, cells);
  if (!counts) return false;
  result_.inserted += counts->inserted;
  result_.updated += counts->updated;
  result_.unchanged += counts->unchanged;
  return true;
}

std::optional<std::string> ManagedImport::Work::read_again(const std::vector<Column>& before,
                                                           TextRows::Row& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row[i] || columns_[i].type == before[i].type) continue;
    const std::string cell = *row[i];
    if (auto fault = read_cell(i, cell, row[i])) return fault;
  }
  return std::nullopt;
}

void ManagedImport::Work::read_again() {
  std::vector<Column> before;
  before.swap(columns_);
  settle_columns();
  std::vector<Pending> good;
  for (Pending& row : pending_) {
    if (auto fault = read_again(before, row.cells))
      refuse(row.line, std::move(*fault));
    else
      good.push_back(std::move(row));
  }
  pending_.swap(good);
}

bool ManagedImport::Work::write_pending() {
  if (pending_.empty()) return true;
  try {
    return write(pending_);
  } catch (const sql::ConstraintBroken&) {
  }
  // One bad row never holds up the others.
  while (!pending_.empty()) {
    try {
      if (!write({&pending_.front(), 1})) return false;
    } catch (const sql::ConstraintBroken& error) {
      refuse(pending_.front().line, error.what());
    }
    pending_.erase(pending_.begin());
  }
  return true;
}

void ManagedImport::Work::flush() {
  while (!write_pending()) read_again();
  pending_.clear();
  pending_bytes_ = 0;
}

ImportResult ManagedImport::Work::finish() {
  settle_columns();
  if (!pending_.empty()) flush();
  settle_pending_keys(database_);
  std::stable_sort(result_.refused.begin(), result_.refused.end(),
                   [](const RefusedRow& a, const RefusedRow& b) { return a.line < b.line; });
  return std::move(result_);
}

ManagedImport::ManagedImport(const DatabaseAddress& database, ImportObject object,
                             std::span<const std::string> header)
    : work_(std::make_unique<Work>(database, object, header)) {}
ManagedImport::~ManagedImport() = default;
std::vector<std::string> ManagedImport::new_columns() {
  return work_->new_columns();
}
std::string_view ManagedImport::new_type(std::string_view name) const {
  return work_->new_type(name);
}
void ManagedImport::survey(std::span<const std::string> cells) {
  work_->survey(cells);
}
bool ManagedImport::add(std::size_t line, std::span<const std::string> cells) {
  return work_->add(line, cells);
}
ImportResult ManagedImport::finish() {
  return work_->finish();
}

}  // namespace giftsync::schema
