// daemon/cli: the commands of giftsyncctl, NOUN VERB (design 5), each with its options and what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "daemon/cli/console.h"
#include "daemon/cli/installation.h"

namespace giftsync::daemon {

/// All of them return an exit code of <sysexits.h> and may throw schema::BrokenWorld.
using StoreCommand = std::function<int(const Console&, Installation&)>;
using SettingsCommand = std::function<int(const Console&, const Settings&)>;

/// The tree of nouns and verbs, and what each verb runs.
class Commands {
 public:
  Commands();

  CLI::App& root() { return root_; }
  CLI::App* noun(const std::string& name, const std::string& about);
  /// A verb, or a noun without verbs when `parent` is root(). `examples`: command lines without the program's
  /// name.
  CLI::App* verb(CLI::App& parent, const std::string& name, const std::string& about,
                 const std::vector<std::string>& examples);

  /// What a verb runs, with the store open.
  void run(CLI::App* verb, StoreCommand command);
  /// What a verb runs that must not make or upgrade the store.
  void run_with_settings(CLI::App* verb, SettingsCommand command);

  /// Runs the verb that was parsed.
  int run_parsed(const Console& console);

 private:
  void add_config_option(CLI::App& app);
  int run_entry(const Console& console, std::size_t entry);

  struct Entry {
    CLI::App* verb = nullptr;
    StoreCommand with_store;
    SettingsCommand with_settings;
  };
  CLI::App root_;
  std::string settings_path_;
  std::vector<Entry> entries_;
};

void add_db_commands(Commands& commands);
void add_account_commands(Commands& commands);
void add_organization_commands(Commands& commands);
void add_key_commands(Commands& commands);
void add_item_commands(Commands& commands);
void add_code_commands(Commands& commands, CLI::App& item);
void add_crm_commands(Commands& commands);
void add_gift_commands(Commands& commands);
void add_change_commands(Commands& commands);
void add_source_commands(Commands& commands);
void add_match_command(Commands& commands);
void add_rematch_command(Commands& commands);
void add_task_commands(Commands& commands);
void add_request_commands(Commands& commands);
void add_backfill_commands(Commands& commands);
void add_status_command(Commands& commands);
void add_settings_commands(Commands& commands);
void add_sso_commands(Commands& commands);

/// A check that takes these words only: "found "gold"; allowed: team, enterprise".
CLI::Validator one_of(std::vector<std::string> words);

/// A check that takes ids and counts: "found "abc"; allowed: a whole number from 1 on".
CLI::Validator whole_number();

/// "giftsyncctl ", with --config when the settings are not where they are looked for anyway: for advice that
/// can be copied.
std::string program_with(const Settings& settings);

}  // namespace giftsync::daemon
