// One SQLite file with plain statements; every value is read as text. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/salesforce/fake_org/objects.h"

struct sqlite3;

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

 private:
  sqlite3* handle_ = nullptr;
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
