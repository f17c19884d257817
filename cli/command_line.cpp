#include "cli/command_line.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <exception>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/usage.h"

namespace giftsync::cli {

void add_all_commands(Commands& commands) {
  add_db_commands(commands);
  add_account_commands(commands);
  add_organization_commands(commands);
  add_key_commands(commands);
  add_item_commands(commands);
  add_crm_commands(commands);
  add_gift_commands(commands);
  add_mail_commands(commands);
  add_change_commands(commands);
  add_source_commands(commands);
  add_match_command(commands);
  add_rematch_command(commands);
  add_task_commands(commands);
  add_request_record_commands(commands);
  add_backfill_commands(commands);
  add_status_command(commands);
  add_settings_commands(commands);
  add_sso_commands(commands);
  add_user_commands(commands);
  add_session_commands(commands);
  add_console_commands(commands);
  add_audit_commands(commands);
}

namespace {

/// "help key create" is "key create --help", "version" is "--version"; also behind --config.
std::vector<std::string> with_flags_for_words(std::vector<std::string> args) {
  auto word = args.begin();
  while (word != args.end() && word->starts_with('-')) {
    const bool has_value = *word == "-c" || *word == "--config";
    word += has_value && std::next(word) != args.end() ? 2 : 1;
  }
  if (word == args.end()) return args;
  if (*word == "version" && std::next(word) == args.end()) *word = "--version";
  if (*word != "help") return args;
  args.erase(word);
  args.emplace_back("--help");
  return args;
}

/// "complete -- WORDS", which the shells' completion calls.
bool asks_for_completions(const std::vector<std::string>& args) {
  return args.size() >= 2 && args[0] == "complete" && args[1] == "--";
}

int parse_and_run(Commands& commands, const std::vector<std::string>& args, const Console& console) {
  CLI::App& root = commands.root();
  if (asks_for_completions(args)) {
    for (const std::string& word : completions(root, {args.begin() + 2, args.end()}))
      console.out << word << '\n';
    return EX_OK;
  }
  if (const auto fault = usage_fault(root, args)) return console.fail(EX_USAGE, *fault);
  try {
    root.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // the parser expects them in reverse
  } catch (const CLI::Success& help_or_version) {
    return root.exit(help_or_version, console.out, console.err);
  } catch (const CLI::ParseError& error) {
    return console.fail(EX_USAGE, parse_fault(root, error));
  }
  return commands.run_parsed(console);
}

/// Unwritten output is a failure.
int flush_output(int exit_code, const Console& console) {
  console.out.flush();
  if (console.out || exit_code != EX_OK) return exit_code;
  if (console.output_closed()) return kOutputClosedExit;
  return console.fail(EX_IOERR,
                      "the output could not be written; check the disk or the program that reads it");
}

}  // namespace

int run_command(const std::vector<std::string>& args, const Console& console) {
  try {
    Commands commands;
    add_all_commands(commands);
    return flush_output(parse_and_run(commands, with_flags_for_words(args), console), console);
  } catch (const std::exception& bug) {
    return console.fail(EX_SOFTWARE, fmt::format("internal error: {}; please report it", bug.what()));
  }
}

}  // namespace giftsync::cli
