// Settings and store in a temporary folder; runs giftsyncctl inside this process with a fixed clock.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
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
  explicit CliFixture(bool with_store = true) {
    std::string folder = (std::filesystem::temp_directory_path() / "giftsync_cli.XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    write_settings("");
    if (with_store) store::migrate_store(address());
  }
  ~CliFixture() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  CliFixture(const CliFixture&) = delete;
  CliFixture& operator=(const CliFixture&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  void write_settings(const std::string& more) const {
    write("giftsyncd.yaml",
          "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
          "store: { connection: store.db }\n"
          "email: { directory: outbox, from: gifts@example.com }\n" +
              more);
  }

  /// Runs giftsyncctl with the settings of this folder.
  Result run(std::vector<std::string> args, const std::string& in = {}) const {
    args.insert(args.begin(), {"--config", path("giftsyncd.yaml")});
    return run_bare(args, in);
  }
  Result run_bare(const std::vector<std::string>& args, const std::string& in = {}) const {
    std::ostringstream out;
    std::ostringstream err;
    std::istringstream given(in);
    set_line_width(out, columns);
    const int code = run_command(args, Console{out, err, given, is_terminal, [this] { return now; }});
    return {code, out.str(), err.str()};
  }

  sql::Dsn address() const { return {sql::Dialect::sqlite, path("store.db")}; }

  /// Creates a gift to each of these addresses; returns the transactions' ids.
  std::vector<TransactionId> send_gifts(const std::vector<std::string>& emails) const {
    run({"db", "migrate"});
    store::Store store(address());
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.costs = {Money{500}, Money{0}, Money{25}, Money{50}};
    request.request.sender_email = "rose@example.com";
    request.request.sender_name = "Rose";
    request.request.created_at = now;
    for (const std::string& email : emails)
      request.recipients.push_back({email, "Pat", "", "Thank you!\nRose"});
    std::vector<TransactionId> ids;
    const auto outcomes = store.gifts.create(std::span(&request, 1));
    for (const auto& made : outcomes.front().recipients) ids.push_back(made.id);
    return ids;
  }

  UtcMillis now{1'795'264'267'000};  // 2026-11-21T12:31:07Z
  bool is_terminal = false;
  long columns = 0;  ///< of the terminal that tables are written to; 0: a pipe

 private:
  std::filesystem::path folder_;
};

}  // namespace giftsync::cli
