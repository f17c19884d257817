// One SQLite file with plain statements; every value is read as text. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/salesforce/fake_org/objects.h"

struct sqlite3;
struct sqlite3_stmt;

namespace giftsync::tests::fake_org {

using Cell = std::optional<std::string>;  ///< nullopt is NULL
using Cells = std::vector<Cell>;

class Database {
 public:
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Throws std::runtime_error with SQLite's words.
  std::vector<Cells> run(const std::string& statement, const std::vector<Value>& parameters = {});
  /// Several statements, without parameters.
  void run_script(const std::string& script);
  int changed_rows() const;
  /// Grows with each row that was ever changed.
  std::int64_t all_changes() const;

 private:
  sqlite3_stmt* prepared(const std::string& statement);

  sqlite3* handle_ = nullptr;
  std::map<std::string, sqlite3_stmt*> statements_;  ///< not running
};

/// Rolls back what was not committed.
class Savepoint {
 public:
  explicit Savepoint(Database& database);
  ~Savepoint();
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  void commit();

 private:
  Database& database_;
  bool is_open_ = true;
};

}  // namespace giftsync::tests::fake_org
