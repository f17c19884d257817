// cli: the commands of giftsyncctl, NOUN VERB, each with its options and its action.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/cli_context.h"
#include "cli/command_tree.h"
#include "cli/console.h"
#include "daemon/config/read_settings.h"

namespace giftsync::cli {

/// The result is an exit code of <sysexits.h>. May throw DependencyError.
using StoreCommand = std::function<int(const Console&, CliContext&)>;
using SettingsCommand = std::function<int(const Console&, const config::Settings&)>;

/// The file may be faulty, but not its section `store`.
using SettingsReadingCommand = std::function<int(const Console&, const config::SettingsReading&)>;

/// What a verb tells although settings or store cannot be used, before the refusal.
using RefusedCommand = std::function<void(const Console&, const config::SettingsReading&, const Refusal&)>;

/// The tree of nouns and verbs, and the action of each verb.
class Commands {
 public:
  Commands();

  Command& root() { return root_; }
  Command* noun(const std::string& name, const std::string& about) { return noun(root_, name, about); }
  /// A noun below another noun: "item codes".
  Command* noun(Command& parent, const std::string& name, const std::string& about);
  /// A verb, or a noun without verbs if `parent` is root(). `examples`: command lines without the program
  /// name.
  Command* verb(Command& parent, const std::string& name, const std::string& about,
                const std::vector<std::string>& examples);

  /// Sets the action of a verb. It gets the opened store.
  void run(Command* verb, StoreCommand command) {
    run_with_store(verb, StoreAccess::existing, std::move(command));
  }
  /// The same with parsed options, for a verb that may create the store.
  template <class Options, class Action>
  void run_or_create(Command* verb, std::shared_ptr<Options> options, Action action) {
    run_with_store(verb, StoreAccess::create,
                   [=](const Console& console, CliContext& ctx) { return action(console, ctx, *options); });
  }
  /// Sets the action of a verb that must not create or upgrade the store.
  void run_with_settings(Command* verb, SettingsCommand command);
  /// Sets the action of a verb that also tells what it can when the settings file is faulty. A file that does
  /// not lead to a store is refused (exit 78).
  void run_despite_faults(Command* verb, SettingsReadingCommand command);
  /// The same also without a settings file, or with one that names no store: the verb uses none.
  void run_without_store(Command* verb, SettingsReadingCommand command);
  /// Sets what a verb tells when it is refused because settings or store cannot be used.
  void before_refusal(Command* verb, RefusedCommand tell) { refused_[verb] = std::move(tell); }
  /// Sets the action of a verb that needs the store alone, with parsed options: int(const Console&,
  /// store::Store&, Options&), or with const config::Settings& before the options. It runs also when the
  /// settings file has faults outside its section `store`: a leaked key must not wait for the correction of a
  /// typo.
  template <class Options, class Action>
  void run_with_store_alone(Command* verb, std::shared_ptr<Options> options, Action action) {
    run_despite_faults(verb, [=](const Console& console, const config::SettingsReading& file) {
      const auto store = open_store_alone(file.settings);
      if (!store) return console.fail(store.error());
      say_faults_are_ignored(console, file);
      begin_audit(console, **store);
      if constexpr (std::is_invocable_v<Action, const Console&, store::Store&, Options&>)
        return action(console, **store, *options);
      else
        return action(console, **store, file.settings, *options);
    });
  }
  /// Sets the action of a verb with parsed options: int(const Console&, CliContext&, Options&), or with const
  /// Settings& for a verb that must not create or upgrade the store.
  template <class Options, class Action>
  void run(Command* verb, std::shared_ptr<Options> options, Action action) {
    const auto command = [=](const Console& console, auto& target) {
      return action(console, target, *options);
    };
    if constexpr (std::is_invocable_v<Action, const Console&, CliContext&, Options&>)
      run(verb, StoreCommand(command));
    else
      run_with_settings(verb, SettingsCommand(command));
  }

  /// Runs the parsed verb. Returns its exit code.
  int run_parsed(const Console& console);

  /// What --config of the program and of each command sets.
  std::string& settings_path() { return settings_path_; }

 private:
  /// Root becomes the owner of the store's folder before anything in it is opened (SEC-8); files that the
  /// command line names are opened before.
  static std::optional<Refusal> become_store_owner(const Command& verb, const config::Settings& settings,
                                                   const Console& console);
  static void open_files_of(const Command& verb, const Console& console);
  static void begin_audit(const Console& console, store::Store& store);
  static void say_faults_are_ignored(const Console& console, const config::SettingsReading& file);
  void run_with_store(Command* verb, StoreAccess access, StoreCommand command);

  Command root_;
  std::string settings_path_;
  std::vector<std::pair<Command*, SettingsReadingCommand>> actions_;
  std::set<const Command*> without_store_;
  std::map<const Command*, RefusedCommand> refused_;
};

void add_db_commands(Commands& commands);
void add_account_commands(Commands& commands);
void add_organization_commands(Commands& commands);
void add_key_commands(Commands& commands);
void add_item_commands(Commands& commands);
void add_gift_code_commands(Commands& commands, Command& item);
void add_crm_commands(Commands& commands);
void add_crm_row_commands(Commands& commands, Command& crm);
void add_crm_setup_command(Commands& commands, Command& crm);
void add_crm_retry_command(Commands& commands, Command& crm);
void add_crm_message_commands(Commands& commands, Command& crm);
void add_crm_org_commands(Commands& commands, Command& crm);
void add_gift_commands(Commands& commands);
void add_gift_action_commands(Commands& commands, Command& gift);
void add_gift_link_command(Commands& commands, Command& gift);
void add_gift_export_command(Commands& commands, Command& gift);
void add_gift_validate_command(Commands& commands, Command& gift);
void add_mail_commands(Commands& commands);
void add_mail_pause_commands(Commands& commands, Command& mail);
void add_do_not_send_commands(Commands& commands);
void add_do_not_send_import_command(Commands& commands, Command& do_not_send);
void add_budget_commands(Commands& commands);
void add_held_commands(Commands& commands);
void add_person_commands(Commands& commands);
void add_change_commands(Commands& commands);
void add_source_commands(Commands& commands);
void add_source_event_commands(Commands& commands, Command& source);
void add_source_refused_command(Commands& commands, Command& source);
void add_source_try_command(Commands& commands, Command& source);
void add_webhook_commands(Commands& commands);
void add_match_command(Commands& commands);
void add_rematch_command(Commands& commands);
void add_task_commands(Commands& commands);
void add_request_record_commands(Commands& commands);
void add_backfill_commands(Commands& commands);
void add_report_command(Commands& commands);
void add_status_command(Commands& commands);
void add_settings_commands(Commands& commands);
void add_secret_commands(Commands& commands);
void add_sso_commands(Commands& commands);
void add_user_commands(Commands& commands);
void add_session_commands(Commands& commands);
void add_console_commands(Commands& commands);
void add_audit_commands(Commands& commands);

/// The whole tree.
void add_all_commands(Commands& commands);

/// Accepts these choices only; otherwise: found "gold"; allowed: team, enterprise.
Check one_of(std::vector<std::string> choices);

/// Accepts these numbers; otherwise: found "70"; allowed: a whole number from 1 to 60.
Check number_between(std::int64_t smallest, std::int64_t largest);

/// Accepts ids and counts; otherwise: found "abc"; allowed: a whole number from 1 on.
Check whole_number();
/// Accepts any text but an empty one: an unset variable of a shell must not widen a filter.
Check not_empty();
/// The reason of a pause: one line of at most 200 printable characters.
Check plain_reason();

/// Adds the flag --json.
std::shared_ptr<bool> json_flag(Command* verb, const std::string& about = "Print JSON");

/// Adds a required argument.
std::shared_ptr<std::string> text_argument(Command* verb, const std::string& name, const std::string& about);

// The verb `retry` of what waits for a retry of its own: of gifts by their ids, or of all.

struct RetryOptions {
  std::vector<std::int64_t> gifts;
  bool all = false;
};

/// Adds the gifts and --all, which `all_help` describes.
void add_retry_options(Command& verb, const std::shared_ptr<RetryOptions>& options,
                       const std::string& all_help);

struct Retry {
  std::string what;  ///< of a gift: "record"
  /// Retries that of one gift now; returns why it does not wait for a retry, empty when it did.
  std::function<std::string(TransactionId)> one;
  /// Retries all; returns the sentence that says how many.
  std::function<std::string()> all;
};

/// Retries those of the gifts, then all with --all unless one of the gifts was refused. Returns an exit code.
int retry(const Console& console, const RetryOptions& options, const Retry& retry);

// Retries failed request records after a command that may have corrected what failed (REQ-53).

/// Says how many, unless there are none.
void retry_failed_requests(const Console& console, CliContext& ctx);

/// "giftsyncctl ", with --config if the settings file is not the default one: for advice that can be copied.
std::string program_with(const config::Settings& settings);

// Below a list that is empty and leaves test gifts out (TEST-7): is there one, and which command lists it?

/// Says so if `has_one` is true of the same filter for tests. Of a list of tests nothing is asked. `what`:
/// "Test gifts".
template <class Filter, class HasOne>
void tell_of_left_out_tests(const Console& console, const CliContext& ctx, Filter filter,
                            std::string_view what, std::string_view command, const HasOne& has_one) {
  if (filter.test) return;
  filter.test = true;
  if (!has_one(filter)) return;
  console.info(
      fmt::format("{} are left out; \"{}{}\" lists them.", what, program_with(ctx.settings), command));
}
/// The same of gifts.
void tell_of_left_out_tests(const Console& console, CliContext& ctx, const store::GiftFilter& filter);

}  // namespace giftsync::cli
