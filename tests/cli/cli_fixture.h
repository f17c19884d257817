// Settings and store in a temporary folder; runs giftsyncctl inside this process with a fixed clock.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/listing.h"
#include "schema/store/store.h"

namespace giftsync::cli {

class CliFixture {
 public:
  struct Result {
    int code = 0;
    std::string out;
    std::string err;
  };

  /// `with_store`: the store is there, as once the daemon has run.
  explicit CliFixture(bool with_store = true);
  ~CliFixture();
  CliFixture(const CliFixture&) = delete;
  CliFixture& operator=(const CliFixture&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const;
  void write_settings(const std::string& more) const;

  /// Runs giftsyncctl with the settings of this folder.
  Result run(std::vector<std::string> args, const std::string& in = {}) const;
  Result run_bare(const std::vector<std::string>& args, const std::string& in = {}) const;

  sql::Dsn address() const { return {sql::Dialect::sqlite, path("store.db")}; }

  /// Creates a gift to each of these addresses; returns the transactions' ids.
  std::vector<TransactionId> send_gifts(const std::vector<std::string>& emails) const;

  UtcMillis now{1'795'264'267'000};  // 2026-11-21T12:31:07Z
  bool is_terminal = false;
  long columns = 0;  ///< of the terminal that tables are written to; 0: a pipe

 private:
  std::filesystem::path folder_;
};

}  // namespace giftsync::cli
