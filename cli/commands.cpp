#include "cli/commands.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <limits>

#include "cli/command_audit.h"
#include "cli/input_file.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/dependency_error.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/ids.h"
#include "sync/access/credential_changes.h"
#include "sync/request/request_record_state_machine.h"

namespace giftsync::cli {

Commands::Commands()
    : root_{"giftsyncctl",
            "The command line of giftsync. It works on the store directly; the daemon may run or not.",
            "Examples:\n"
            "  giftsyncctl account create --email rose@example.com --name \"Rose\" --plan team\n"
            "  giftsyncctl key create --account rose@example.com\n"
            "  giftsyncctl gift list --json\n"
            "For help on a noun or verb: giftsyncctl help key, giftsyncctl key create --help\n"
            "Data goes to stdout, everything else to stderr; exit codes are those of sysexits.h."},
      settings_path_(config::default_settings_path()) {}

Command* Commands::noun(Command& parent, const std::string& name, const std::string& about) {
  const std::string full_name = &parent == &root_ ? name : parent.name + " " + name;
  parent.below.push_back(std::make_unique<Command>(Command{
      name, about, fmt::format("For help on a verb: giftsyncctl {} VERB --help", full_name), &parent}));
  return parent.below.back().get();
}

Command* Commands::verb(Command& parent, const std::string& name, const std::string& about,
                        const std::vector<std::string>& examples) {
  std::string footer = examples.size() == 1 ? "Example:" : "Examples:";
  for (const std::string& example : examples) footer += "\n  giftsyncctl " + example;
  parent.below.push_back(std::make_unique<Command>(Command{name, about, footer, &parent}));
  return parent.below.back().get();
}

const Option* Command::find(std::string_view option) const {
  for (const auto& one : options) {
    std::string_view names = one->names;
    while (!names.empty()) {
      const std::size_t comma = names.find(',');
      if (names.substr(0, comma) == option) return one.get();
      names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
    }
  }
  return nullptr;
}

const Command* Command::find_below(std::string_view word) const {
  const auto at =
      std::ranges::find(below, word, [](const auto& one) -> std::string_view { return one->name; });
  return at == below.end() ? nullptr : at->get();
}

void Commands::run_with_store(Command* verb, StoreAccess access, StoreCommand command) {
  run_with_settings(
      verb, [access, command = std::move(command)](const Console& console, const config::Settings& settings) {
        const auto ctx = open_cli_context(settings, console, access);
        if (!ctx) return console.fail(ctx.error());
        begin_audit(console, (*ctx)->store);
        return command(console, **ctx);
      });
}

void Commands::run_with_settings(Command* verb, SettingsCommand command) {
  run_despite_faults(
      verb, [command = std::move(command)](const Console& console, const config::SettingsReading& file) {
        return file.faults.empty() ? command(console, file.settings) : console.fail({EX_CONFIG, file.faults});
      });
}

void Commands::begin_audit(const Console& console, store::Store& store) {
  if (console.audit) console.audit->begin(store);
}

void Commands::say_faults_are_ignored(const Console& console, const config::SettingsReading& file) {
  if (file.faults.empty()) return;
  console.info(fmt::format("{} has {}, which this command does not need; \"giftsyncd --check\" lists them.",
                           file.settings.file, pluralize(file.faults.size(), "fault")));
}

void Commands::run_despite_faults(Command* verb, SettingsReadingCommand command) {
  actions_.emplace_back(verb, std::move(command));
}

void Commands::run_without_store(Command* verb, SettingsReadingCommand command) {
  without_store_.insert(verb);
  run_despite_faults(verb, std::move(command));
}

namespace {

/// The findings of the CRM check for a CRM that responds but refuses a query, for example because a right is
/// missing.
std::optional<Refusal> unusable_crm(const config::Settings& settings, const DependencyError& broken) {
  if (!broken.of_external_crm() || broken.transient()) return std::nullopt;
  try {
    const wiring::CrmCheck check = wiring::check_crm(settings);
    if (!check.faults.empty()) return refuse_faults(settings, check.faults);
    if (check.command_warnings.empty()) return std::nullopt;
    Refusal refusal = refuse_faults(settings, check.command_warnings);
    refusal.lines.insert(refusal.lines.begin(), database_failure(settings, broken));
    return refusal;
  } catch (const DependencyError&) {
    return std::nullopt;  // the check failed too: report the first fault
  }
}

}  // namespace

void Commands::open_files_of(const Command& verb, const Console& console) {
  for (const auto& option : verb.options)
    for (const std::string& word : option->words) InputFile::open_early(word, console);
}

std::optional<Refusal> Commands::become_store_owner(const Command& verb, const config::Settings& settings,
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
                                   [](const auto& action) { return action.first->is_parsed; });
  if (parsed == actions_.end())
    return console.fail(EX_SOFTWARE, "the command has no action; please report this");
  const auto file = config::read_settings_despite_faults(settings_path_);
  const bool needs_store = !without_store_.contains(parsed->first);
  const auto refuse = [&](const Refusal& refusal) {
    if (const auto action = refused_.find(parsed->first); action != refused_.end())
      action->second(console, file, refusal);
    return console.fail(refusal);
  };
  if (needs_store && !file.has_store) return refuse({EX_CONFIG, file.faults});
  const config::Settings& settings = file.settings;
  if (const auto refusal = needs_store ? become_store_owner(*parsed->first, settings, console) : std::nullopt)
    return refuse(*refusal);
  CommandAudit audit(console, settings, *parsed->first);
  Console audited = console;
  audited.audit = &audit;
  try {
    return parsed->second(audited, file);
  } catch (const store::IncompatibleStoreError& fault) {
    return refuse({EX_CONFIG, {fmt::format("{}: {}", wiring::store_location(settings), fault.what())}});
  } catch (const DependencyError& broken) {
    if (const auto refusal = unusable_crm(settings, broken)) return refuse(*refusal);
    return refuse({EX_UNAVAILABLE, {database_failure(settings, broken)}});
  }
}

std::shared_ptr<bool> json_flag(Command* verb, const std::string& about) {
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, about);
  return json;
}

std::shared_ptr<std::string> text_argument(Command* verb, const std::string& name, const std::string& about) {
  auto text = std::make_shared<std::string>();
  verb->add_option(name, *text, about)->required();
  return text;
}

Check number_between(std::int64_t smallest, std::int64_t largest) {
  return {[=](const std::string& word) -> std::string {
    const auto number = parse_number<std::int64_t>(word);
    if (number && *number >= smallest && *number <= largest) return {};
    return fmt::format(
        "found {}; allowed: a whole number from {} {}", in_quotes(word), smallest,
        largest == std::numeric_limits<std::int64_t>::max() ? "on" : fmt::format("to {}", largest));
  }};
}

Check whole_number() {
  const auto check = [](const std::string& word) -> std::string {
    const auto number = parse_number<std::int64_t>(word);
    if (number && *number >= 1 && *number <= kMaxId) return {};
    return fmt::format("found {}; allowed: a whole number from 1 on", in_quotes(word));
  };
  return {check};
}

Check not_empty() {
  return {[](const std::string& text) -> std::string {
    return trimmed(text).empty() ? "found nothing; allowed: a text that is not empty" : "";
  }};
}

Check plain_reason() {
  return {[](const std::string& text) -> std::string {
    if (sync::is_plain_reason(text)) return {};
    return fmt::format("found {}; allowed: one line of at most {} printable characters", in_quotes(text),
                       sync::kMaxReasonCodePoints);
  }};
}

std::string program_with(const config::Settings& settings) {
  if (settings.file == config::default_settings_path()) return "giftsyncctl ";
  return "giftsyncctl --config " + shell_word(settings.file) + " ";
}

void tell_of_left_out_tests(const Console& console, CliContext& ctx, const store::GiftFilter& filter) {
  tell_of_left_out_tests(console, ctx, filter, "Test gifts", "gift list --test",
                         [&ctx](const store::GiftFilter& tests) {
                           return !ctx.store.gifts.list(tests, TransactionId{0}, 1).gifts.empty();
                         });
}

Check one_of(std::vector<std::string> choices) {
  const std::string allowed = fmt::format("{}", fmt::join(choices, ", "));
  const auto check = [choices = std::move(choices), allowed](const std::string& word) -> std::string {
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return {};
    return fmt::format("found {}; allowed: {}", in_quotes(word), allowed);
  };
  return {check, "{" + allowed + "}"};
}

void add_retry_options(Command& verb, const std::shared_ptr<RetryOptions>& options,
                       const std::string& all_help) {
  verb.add_option("GIFT", options->gifts, "Transaction ids of gifts")->check(whole_number());
  verb.add_flag("--all", options->all, all_help);
}

int retry(const Console& console, const RetryOptions& options, const Retry& retry) {
  int code = EX_OK;
  for (const std::int64_t gift : options.gifts) {
    if (const std::string reason = retry.one({gift}); !reason.empty())
      code = console.fail(EX_DATAERR, reason);
    else
      console.info(fmt::format("The {} of gift {} is tried now.", retry.what, gift));
  }
  if (code == EX_OK && options.all) console.info(retry.all());
  return code;
}

void retry_failed_requests(const Console& console, CliContext& ctx) {
  const std::int64_t count = sync::retry_failed_request_records(ctx.store.request_records);
  if (count == 0) return;
  console.info(fmt::format("{} that could not be sent {} tried again now.",
                           pluralize(count, "request record"), plural_verb(count, "is", "are")));
}

}  // namespace giftsync::cli
