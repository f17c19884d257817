#include "cli/commands.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <utility>

#include "cli/command_audit.h"
#include "cli/input_file.h"
#include "cli/os_user.h"
#include "platform/dependency_error.h"
#include "platform/plural.h"
#include "platform/quoted_text.h"
#include "platform/text.h"
#include "schema/ids.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"
#include "wiring/store_owner.h"

namespace giftsync::cli {

Commands::Commands()
    : root_("The command line of giftsync. It works on the store directly; the daemon may run or not.",
            "giftsyncctl"),
      settings_path_(daemon::config::default_settings_path()) {
  root_.require_subcommand(1);
  root_.set_version_flag("--version", "giftsyncctl " GIFTSYNC_VERSION);
  root_.get_formatter()->label("SUBCOMMAND", "COMMAND");
  root_.footer(
      "Examples:\n"
      "  giftsyncctl account create --email rose@example.com --name \"Rose\" --plan team\n"
      "  giftsyncctl key create --account rose@example.com\n"
      "  giftsyncctl gift list --json\n"
      "For help on a noun or verb: giftsyncctl help key, giftsyncctl key create --help\n"
      "Data goes to stdout, everything else to stderr; exit codes are those of sysexits.h.");
  add_config_option(root_);
}

void Commands::add_config_option(CLI::App& app) {
  app.add_option("-c,--config", settings_path_,
                 "The settings file (default: $GIFTSYNC_CONFIG, else /etc/giftsync/giftsyncd.yaml)")
      ->option_text("FILE");
}

CLI::App* Commands::noun(CLI::App& parent, const std::string& name, const std::string& about) {
  CLI::App* app = parent.add_subcommand(name, about);
  app->group("Nouns");
  app->require_subcommand(1);
  const std::string full_name = &parent == &root_ ? name : parent.get_name() + " " + name;
  app->footer(fmt::format("For help on a verb: giftsyncctl {} VERB --help", full_name));
  add_config_option(*app);
  return app;
}

CLI::App* Commands::verb(CLI::App& parent, const std::string& name, const std::string& about,
                         const std::vector<std::string>& examples) {
  CLI::App* app = parent.add_subcommand(name, about);
  app->group("Verbs");
  std::string footer = examples.size() == 1 ? "Example:" : "Examples:";
  for (const std::string& example : examples) footer += "\n  giftsyncctl " + example;
  app->footer(footer);
  add_config_option(*app);
  return app;
}

void Commands::run_with_store(CLI::App* verb, StoreAccess access, StoreCommand command) {
  run_with_settings(verb, [access, command = std::move(command)](const Console& console,
                                                                 const daemon::config::Settings& settings) {
    const auto ctx = open_cli_context(settings, console, access);
    if (!ctx) return refuse(console, ctx.error());
    begin_audit(console, (*ctx)->store);
    return command(console, **ctx);
  });
}

void Commands::run_with_settings(CLI::App* verb, SettingsCommand command) {
  run_despite_faults(verb, [command = std::move(command)](const Console& console,
                                                          const daemon::config::SettingsReading& file) {
    return file.faults.empty() ? command(console, file.settings) : refuse(console, {EX_CONFIG, file.faults});
  });
}

void Commands::begin_audit(const Console& console, schema::store::Store& store) {
  if (console.audit) console.audit->begin(store);
}

void Commands::say_faults_are_ignored(const Console& console, const daemon::config::SettingsReading& file) {
  if (file.faults.empty()) return;
  console.info(fmt::format("{} has {}, which this command does not need; \"giftsyncd --check\" lists them.",
                           file.settings.file, platform::pluralize(file.faults.size(), "fault")));
}

void Commands::run_despite_faults(CLI::App* verb, SettingsReadingCommand command) {
  actions_.emplace_back(verb, std::move(command));
}

void Commands::run_without_store(CLI::App* verb, SettingsReadingCommand command) {
  without_store_.insert(verb);
  run_despite_faults(verb, std::move(command));
}

namespace {

/// The findings of the CRM check for a CRM that responds but refuses a query, for example because a right is
/// missing.
std::optional<Refusal> unusable_crm(const daemon::config::Settings& settings,
                                    const platform::DependencyError& broken) {
  if (!broken.of_external_crm() || broken.transient()) return std::nullopt;
  try {
    const wiring::CrmCheck check = wiring::check_crm(settings);
    if (!check.faults.empty()) return refuse_faults(settings, check.faults);
    if (check.command_warnings.empty()) return std::nullopt;
    Refusal refusal = refuse_faults(settings, check.command_warnings);
    refusal.lines.insert(refusal.lines.begin(), database_failure(settings, broken));
    return refusal;
  } catch (const platform::DependencyError&) {
    return std::nullopt;  // the check failed too: report the first fault
  }
}

}  // namespace

void Commands::open_files_of(const CLI::App& verb, const Console& console) {
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& word : option->results()) InputFile::open_early(word, console);
}

std::optional<Refusal> Commands::become_store_owner(const CLI::App& verb,
                                                    const daemon::config::Settings& settings,
                                                    const Console& console) {
  if (!console.becomes_store_owner) return std::nullopt;
  const auto owner = wiring::owner_to_become(settings);
  if (!owner) return std::nullopt;
  // The files that root names, and the name in the history, are root's.
  open_files_of(verb, console);
  remember_os_user();
  if (auto fault = wiring::become(*owner)) return Refusal{EX_NOPERM, {std::move(*fault)}};
  return std::nullopt;
}

int Commands::run_parsed(const Console& console) {
  const auto parsed = std::find_if(actions_.begin(), actions_.end(),
                                   [](const auto& action) { return action.first->parsed(); });
  if (parsed == actions_.end())
    return console.fail(EX_SOFTWARE, "the command has no action; please report this");
  const auto file = daemon::config::read_settings_despite_faults(settings_path_);
  const bool needs_store = !without_store_.contains(parsed->first);
  if (needs_store && !file.has_store) return refuse(console, {EX_CONFIG, file.faults});
  const daemon::config::Settings& settings = file.settings;
  if (const auto refusal = needs_store ? become_store_owner(*parsed->first, settings, console) : std::nullopt)
    return refuse(console, *refusal);
  CommandAudit audit(console, settings, *parsed->first);
  Console audited = console;
  audited.audit = &audit;
  try {
    return parsed->second(audited, file);
  } catch (const schema::store::IncompatibleStoreError& fault) {
    return console.fail(EX_CONFIG, fmt::format("{}: {}", wiring::store_location(settings), fault.what()));
  } catch (const platform::DependencyError& broken) {
    if (const auto refusal = unusable_crm(settings, broken)) return refuse(console, *refusal);
    return console.fail(EX_UNAVAILABLE, database_failure(settings, broken));
  }
}

std::shared_ptr<bool> json_flag(CLI::App* verb, const std::string& about) {
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, about);
  return json;
}

std::shared_ptr<std::string> text_argument(CLI::App* verb, const std::string& name,
                                           const std::string& about) {
  auto text = std::make_shared<std::string>();
  verb->add_option(name, *text, about)->required();
  return text;
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& word) -> std::string {
    const auto number = platform::parse_number<std::int64_t>(word);
    if (number && *number >= 1 && *number <= schema::kMaxId) return {};
    return fmt::format("found {}; allowed: a whole number from 1 on", platform::in_quotes(word));
  };
  return CLI::Validator(check, "");
}

std::string program_with(const daemon::config::Settings& settings) {
  if (settings.file == daemon::config::default_settings_path()) return "giftsyncctl ";
  // Quoted for a shell.
  std::string file;
  for (const char c : settings.file) file += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const bool is_plain = settings.file.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789/._-+@:") == std::string::npos;
  return fmt::format("giftsyncctl --config {} ", is_plain ? settings.file : "'" + file + "'");
}

CLI::Validator one_of(std::vector<std::string> choices) {
  const std::string allowed = fmt::format("{}", fmt::join(choices, ", "));
  const auto check = [choices = std::move(choices), allowed](const std::string& word) -> std::string {
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return {};
    return fmt::format("found {}; allowed: {}", platform::in_quotes(word), allowed);
  };
  return CLI::Validator(check, "{" + allowed + "}");
}

}  // namespace giftsync::cli
