// cli: deploys giftsync's package into an org of Salesforce.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cli/commands.h"
#include "cli/confirmation.h"
#include "cli/progress.h"
#include "platform/plural.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "wiring/package_setup.h"

namespace giftsync::cli {
namespace {

using daemon::config::Settings;

constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLongestPause{4'000};
/// A session's token of Salesforce has about 112 characters, as a JWT some thousand.
constexpr std::size_t kMaxTokenBytes = 20'000;
constexpr std::string_view kTokenCommand = "sf org auth show-access-token --json";
/// What the Salesforce CLI prints in place of a token where it hides tokens.
constexpr std::string_view kHidden = "[REDACTED]";

struct SetupOptions {
  std::string folder;  ///< --out
  std::string domain;  ///< --domain; empty: of the settings
  bool is_check_only = false;
  bool yes = false;
};

int write_project(const Console& console, const std::string& folder) {
  const auto written = wiring::write_package_project(folder);
  if (!written) return console.fail(EX_CANTCREAT, written.error());
  console.out << fmt::format("{}: {} written\n", folder, platform::pluralize(*written, "file"));
  console.info(fmt::format("Deploy them with: cd {} && sf project deploy start", folder));
  return EX_OK;
}

/// The first line of standard input, or the token in JSON of the Salesforce CLI; not checked.
std::string read_token(const Console& console) {
  if (console.err_is_terminal)
    console.info(fmt::format("Access token of an admin, or the JSON that shows it ({}):", kTokenCommand));
  std::string text;
  std::getline(console.in, text);
  if (!platform::trimmed(text).starts_with('{')) return std::string(platform::trimmed(text));
  auto json = platform::parse_json(text);
  for (std::string line; !json && text.size() <= kMaxTokenBytes && std::getline(console.in, line);
       json = platform::parse_json(text))
    text += line;
  const platform::JsonValue* result = json ? json->root().find("result") : nullptr;
  const platform::JsonValue* token = result == nullptr ? nullptr : result->find("accessToken");
  return token == nullptr ? std::string() : std::string(token->text().value_or(""));
}

/// Empty where it can be a token.
std::string fault_of_token(const std::string& token) {
  if (token.starts_with(kHidden))
    return fmt::format("the Salesforce CLI hid the token (\"{}\"); get it with: {} | giftsyncctl crm setup",
                       kHidden, kTokenCommand);
  if (!token.empty() && token.size() <= kMaxTokenBytes &&
      token.find_first_of(" \t\r\n\"'") == std::string::npos)
    return {};
  return fmt::format(
      "found no access token on standard input; give one of an admin: {} | giftsyncctl crm setup",
      kTokenCommand);
}

int print_result(const Console& console, const wiring::SetupResult& result, const std::string& address,
                 bool is_check_only) {
  using Kind = wiring::SetupResult::Kind;
  switch (result.kind) {
    case Kind::done:
      console.out << fmt::format("{}: {} {}\n", address, platform::pluralize(result.components, "component"),
                                 is_check_only ? "would be deployed" : "deployed");
      for (const std::string& component : result.replaced)
        if (is_check_only) console.out << "would replace " << component << '\n';
      if (!is_check_only)
        console.info(
            "Next: assign the permission sets giftsync_Integration to the integration user and Admin to "
            "yourself (Setup, Users), then run giftsyncctl crm check.");
      return EX_OK;
    case Kind::refused:
      for (const std::string& failure : result.failures) console.out << failure << '\n';
      return console.fail(
          EX_CONFIG, fmt::format("{} refuses the package{}{}; nothing was changed (Setup, Deployment Status "
                                 "shows {})",
                                 address, result.message.empty() ? "" : ": ", result.message, result.id));
    case Kind::not_begun:
      return console.fail(EX_CONFIG, result.message);
    case Kind::unreachable:
      return console.fail(
          EX_UNAVAILABLE,
          result.id.empty()
              ? result.message
              : fmt::format("{}; the deployment {} may go on: Setup, Deployment Status shows it",
                            result.message, result.id));
  }
  return EX_SOFTWARE;
}

int set_up(const Console& console, const Settings& settings, const SetupOptions& options) {
  if (!options.folder.empty()) return write_project(console, options.folder);
  const std::string& domain = options.domain.empty() ? settings.crm.salesforce.domain : options.domain;
  if (domain.empty())
    return console.fail(EX_USAGE, "missing --domain: the org's My Domain URL (or crm.salesforce.domain)");
  const auto address = wiring::org_address(domain);
  if (!address) return console.fail(EX_USAGE, "--domain: " + address.error());
  const std::string token = read_token(console);
  if (const std::string fault = fault_of_token(token); !fault.empty()) return console.fail(EX_DATAERR, fault);
  ProgressLine line(console);
  const auto report = [&](const wiring::SetupProgress& progress) {
    const std::string text = progress.total == 0 ? progress.status
                                                 : fmt::format("{}: {} of {} components", progress.status,
                                                               progress.deployed, progress.total);
    if (console.err_is_terminal)
      line.show(text);
    else
      console.info(text);
  };
  const auto pause = [next = kFirstPause]() mutable {
    std::this_thread::sleep_for(next);
    next = std::min(next * 2, kLongestPause);
  };
  const auto deploy = [&](bool is_check_only) {
    wiring::SetupResult result = wiring::deploy_package(
        {*address, token, settings.crm.salesforce.api_version, is_check_only}, report, pause);
    line.clear();
    return result;
  };
  // Also before a deployment: it replaces the whole contents of what the org has under the same names.
  const wiring::SetupResult checked = deploy(true);
  if (options.is_check_only || checked.kind != wiring::SetupResult::Kind::done)
    return print_result(console, checked, *address, options.is_check_only);
  if (!checked.replaced.empty()) {
    for (const std::string& component : checked.replaced) console.out << "replaces " << component << '\n';
    if (const auto code = refuse_unconfirmed(
            console, options.yes,
            fmt::format(
                "Replace {} of the org? What was added to them there is lost; give a permission set of "
                "your own with such a name another API name first (Setup, Permission Sets).",
                platform::pluralize(checked.replaced.size(), "component"))))
      return *code;
  }
  return print_result(console, deploy(false), *address, false);
}

}  // namespace

void add_crm_setup_command(Commands& commands, CLI::App& crm) {
  const auto options = std::make_shared<SetupOptions>();
  CLI::App* verb = commands.verb(
      crm, "setup",
      "Deploy giftsync's objects, fields, validation rules and permission sets into an org of Salesforce. "
      "Standard input has the access token of an admin, which is neither stored nor printed. All components "
      "are deployed, or none. The org checks them first; those that it has under the same names with other "
      "contents, permission sets and layouts among them, are listed and replaced after a confirmation.",
      {"crm setup --domain https://acme.my.salesforce.com < token", "crm setup --check-only < token",
       "crm setup --out giftsync-salesforce"});
  verb->add_option("--domain", options->domain,
                   "The org's My Domain URL; default: crm.salesforce.domain of the settings")
      ->option_text("URL");
  verb->add_flag("--check-only", options->is_check_only,
                 "Let the org check the package and list what would be replaced; change nothing");
  add_yes_flag(*verb, options->yes);
  verb->add_option("--out", options->folder,
                   "Write the sfdx project into a new folder instead, for \"sf project deploy start\"")
      ->option_text("DIR")
      ->excludes("--check-only")
      ->excludes("--domain");
  // The settings may still be unfinished or missing: their keys come from the app that is made after this.
  commands.run_without_store(verb,
                             [options](const Console& console, const daemon::config::SettingsReading& file) {
                               return set_up(console, file.settings, *options);
                             });
}

}  // namespace giftsync::cli
