#include "tests/salesforce/fake_org/database.h"

#include <sqlite3.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "platform/text.h"

namespace giftsync::tests::fake_org {
namespace {

/// Statements are kept: most are those of each row that is saved. Their texts are few.
constexpr std::size_t kMostStatements = 500;

/// Ends a kept statement, so that it holds no lock.
struct Reset {
  void operator()(sqlite3_stmt* statement) const {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};
using Running = std::unique_ptr<sqlite3_stmt, Reset>;

std::string_view text_of(sqlite3_value* value) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

/// fold(text): letters of every script in lower case; NULL stays NULL.
void fold(sqlite3_context* context, int, sqlite3_value** arguments) {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) {
    sqlite3_result_null(context);
    return;
  }
  const std::string folded = lower_case(text_of(arguments[0]));
  sqlite3_result_text(context, folded.data(), static_cast<int>(folded.size()), SQLITE_TRANSIENT);
}

void bind(sqlite3_stmt* statement, int at, const Value& value) {
  if (const auto* yes = std::get_if<bool>(&value)) {
    sqlite3_bind_int(statement, at, *yes ? 1 : 0);
  } else if (const auto* number = std::get_if<double>(&value)) {
    if (std::floor(*number) == *number && std::abs(*number) < 9e15)
      sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(*number));
    else
      sqlite3_bind_double(statement, at, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
  } else {
    sqlite3_bind_null(statement, at);
  }
}

Cells read_row(sqlite3_stmt* statement) {
  Cells cells;
  for (int at = 0; at < sqlite3_column_count(statement); ++at) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, at));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
    cells.push_back(bytes == nullptr ? Cell() : Cell(std::string(bytes, size)));
  }
  return cells;
}

}  // namespace

Database::Database(const std::string& path) {
  if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) {
    const std::string words = sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw std::runtime_error(path + ": " + words);
  }
  sqlite3_busy_timeout(handle_, 10'000);
  sqlite3_create_function(handle_, "fold", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, fold, nullptr,
                          nullptr);
  run_script("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;");
}

Database::~Database() {
  for (const auto& [text, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

sqlite3_stmt* Database::prepared(const std::string& text) {
  if (const auto found = statements_.find(text); found != statements_.end()) return found->second;
  if (statements_.size() >= kMostStatements) {
    for (const auto& [other, statement] : statements_) sqlite3_finalize(statement);
    statements_.clear();
  }
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(handle_, text.c_str(), -1, &made, nullptr) != SQLITE_OK)
    throw std::runtime_error(std::string(sqlite3_errmsg(handle_)) + ": " + text);
  return statements_[text] = made;
}

std::vector<Cells> Database::run(const std::string& text, const std::vector<Value>& parameters) {
  const Running statement(prepared(text));
  for (std::size_t at = 0; at < parameters.size(); ++at)
    bind(statement.get(), static_cast<int>(at) + 1, parameters[at]);
  std::vector<Cells> rows;
  int outcome = SQLITE_OK;
  while ((outcome = sqlite3_step(statement.get())) == SQLITE_ROW) rows.push_back(read_row(statement.get()));
  if (outcome != SQLITE_DONE) throw std::runtime_error(std::string(sqlite3_errmsg(handle_)) + ": " + text);
  return rows;
}

void Database::run_script(const std::string& script) {
  char* words = nullptr;
  if (sqlite3_exec(handle_, script.c_str(), nullptr, nullptr, &words) == SQLITE_OK) return;
  const std::string message = words == nullptr ? "SQLite" : words;
  sqlite3_free(words);
  throw std::runtime_error(message);
}

std::int64_t Database::all_changes() const {
  return sqlite3_total_changes64(handle_);
}

int Database::changed_rows() const {
  return sqlite3_changes(handle_);
}

Savepoint::Savepoint(Database& database) : database_(database) {
  database_.run("SAVEPOINT one");
}

Savepoint::~Savepoint() {
  if (is_open_) database_.run_script("ROLLBACK TO one; RELEASE one;");
}

void Savepoint::commit() {
  is_open_ = false;
  database_.run("RELEASE one");
}

}  // namespace giftsync::tests::fake_org
