#include "daemon/cli/command_line.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <exception>

#include "daemon/cli/commands.h"
#include "daemon/cli/usage.h"

namespace giftsync::daemon {
namespace {

void add_all(Commands& commands) {
  add_db_commands(commands);
  add_account_commands(commands);
  add_organization_commands(commands);
  add_key_commands(commands);
  add_item_commands(commands);
  add_crm_commands(commands);
  add_gift_commands(commands);
  add_change_commands(commands);
  add_source_commands(commands);
  add_match_command(commands);
  add_rematch_command(commands);
  add_task_commands(commands);
  add_request_commands(commands);
  add_backfill_commands(commands);
  add_status_command(commands);
  add_settings_commands(commands);
  add_sso_commands(commands);
}

int parse_and_run(Commands& commands, const std::vector<std::string>& words, const Console& console) {
  CLI::App& root = commands.root();
  if (const auto fault = usage_fault(root, words)) return console.fail(EX_USAGE, *fault);
  try {
    root.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // the parser takes them from the back
  } catch (const CLI::Success& help_or_version) {
    return root.exit(help_or_version, console.out, console.err);
  } catch (const CLI::ParseError& error) {
    return console.fail(EX_USAGE, parse_fault(root, error));
  }
  return commands.run_parsed(console);
}

/// Data that did not get out is no success.
int flushed(int exit_code, const Console& console) {
  console.out.flush();
  if (console.out || exit_code != EX_OK) return exit_code;
  if (console.reader_left()) return kReaderLeft;
  return console.fail(EX_IOERR,
                      "the output could not be written; check the disk or the program that reads it");
}

}  // namespace

int run_command(const std::vector<std::string>& words, const Console& console) {
  try {
    Commands commands;
    add_all(commands);
    return flushed(parse_and_run(commands, words, console), console);
  } catch (const std::exception& bug) {
    return console.fail(EX_SOFTWARE, fmt::format("an internal error: {}; please report it", bug.what()));
  }
}

}  // namespace giftsync::daemon
