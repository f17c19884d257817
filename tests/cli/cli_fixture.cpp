#include "tests/cli/cli_fixture.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace giftsync::cli {

CliFixture::CliFixture(bool with_store) {
  std::string folder = (std::filesystem::temp_directory_path() / "giftsync_cli.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = folder;
  write_settings("");
  if (with_store) store::migrate_store(address());
}

CliFixture::~CliFixture() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string CliFixture::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

void CliFixture::write_settings(const std::string& more) const {
  write("giftsyncd.yaml",
        "server: { base_url: \"http://127.0.0.1:8480\", admin_url: \"http://127.0.0.1:8480\" }\n"
        "store: { connection: store.db }\n"
        "email: { directory: outbox, from: gifts@example.com }\n" +
            more);
}

CliFixture::Result CliFixture::run(std::vector<std::string> args, const std::string& in) const {
  args.insert(args.begin(), {"--config", path("giftsyncd.yaml")});
  return run_bare(args, in);
}

CliFixture::Result CliFixture::run_bare(const std::vector<std::string>& args, const std::string& in) const {
  std::ostringstream out;
  std::ostringstream err;
  std::istringstream given(in);
  set_line_width(out, columns);
  const int code = run_command(args, Console{out, err, given, is_terminal, [this] { return now; }});
  return {code, out.str(), err.str()};
}

std::vector<TransactionId> CliFixture::send_gifts(const std::vector<std::string>& emails) const {
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

}  // namespace giftsync::cli
