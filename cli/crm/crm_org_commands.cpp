// cli: `crm accept-org`.
#include "cli/crm/crm_org_commands.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cli/commands.h"
#include "cli/listing.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/org_check.h"
#include "daemon/wiring/org_status.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "sync/attention.h"

namespace giftsync::cli {
namespace {

using sync::count_text;

struct AcceptOptions {
  std::string organization_id;
  bool yes = false;
};

/// 15 characters identify; the other three are a check sum.
bool is_same_org(const std::string& one, const std::string& other) {
  constexpr std::size_t kSignificant = 15;
  return one.size() >= kSignificant && one.substr(0, kSignificant) == other.substr(0, kSignificant);
}

int accept(const Console& console, CliContext& ctx, const AcceptOptions& options) {
  const auto org = wiring::org_status(ctx.settings, ctx.store, console.now());
  if (!org)
    return console.fail(EX_CONFIG, fmt::format("{}: only with crm.type: salesforce", ctx.settings.file));
  const auto found = wiring::find_org(ctx.settings);
  if (!found) return console.fail(EX_UNAVAILABLE, found.error());
  if (!is_same_org(options.organization_id, found->organization_id))
    return console.fail(
        EX_DATAERR, fmt::format("{}: crm.salesforce.domain leads to the org {}, not to {}; name that org, or "
                                "correct the domain",
                                ctx.settings.file, found->organization_id, options.organization_id));
  if (org->organization_id.empty() || is_same_org(org->organization_id, found->organization_id)) {
    console.info("The records in the store are of this org already; nothing was changed.");
    return EX_OK;
  }
  const std::int64_t written = ctx.store.sync.count_states(store::CrmSyncStatus::written);
  console.info(fmt::format(
      "The store has {} with records in the org {}. From now on giftsync writes to the org {}: "
      "changes of these gifts update the records that have their Transaction Ids there, and a gift "
      "without one counts as deleted in the CRM. What is stored of the former org is deleted: the session, "
      "the count of calls, the Ids of its records, which changes of its request records were seen, and {} of "
      "its outbound messages. The open request records of the org {} are read.",
      count_text(written, "gift"), org->organization_id, found->organization_id,
      count_text(org->messages.count, "waiting record"), found->organization_id));
  const std::string question =
      fmt::format("Accept the org {} in place of {}?", found->organization_id, org->organization_id);
  if (const auto refused = refuse_unconfirmed(console, options.yes, question)) return *refused;
  wiring::accept_org(ctx.settings, found->organization_id);
  console.out << "accepted " << found->organization_id << '\n';
  console.info("A running giftsyncd goes on within seconds.");
  return EX_OK;
}

}  // namespace

void add_crm_org_commands(Commands& commands, Command& crm) {
  const auto options = std::make_shared<AcceptOptions>();
  Command* verb = commands.verb(
      crm, "accept-org",
      "Write to another org of Salesforce than the one whose records the store has, for example after a "
      "migration. giftsyncd pauses all calls to an org that was not accepted, such as a sandbox copied over "
      "production. Shows what it means and asks first.",
      {"crm accept-org 00D5g000004VnRIEA0", "crm accept-org 00D5g000004VnRIEA0 --yes"});
  verb->add_option("ID", options->organization_id, "The other org's id, 15 or 18 characters")->required();
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, accept);
}

namespace {

using config::Settings;
using Severity = wiring::OrgFinding::Severity;

Json check_json(const Settings& settings, const wiring::OrgCheck& check, bool is_good) {
  Json findings = Json::array();
  for (const wiring::OrgFinding& finding : check.findings)
    findings.push_back({{"severity", to_word(finding.severity)},
                        {"subject", finding.subject},
                        {"found", finding.found},
                        {"remedy", finding.remedy}});
  return {{"crm", wiring::crm_location(settings)},
          {"good", is_good},
          {"faults", check.texts(Severity::fault)},
          {"warnings", check.texts(Severity::warning)},
          {"organization_id", check.organization_id},
          {"is_sandbox", check.is_sandbox},
          {"mode", check.mode},
          {"mode_set", check.mode_set},
          {"reason", check.reason},
          {"offers_tasks", check.offers_tasks},
          {"offers_request_records", check.offers_requests},
          {"findings", std::move(findings)}};
}

Json proof_json(const wiring::OrgProofReport& proof) {
  Json steps = Json::array();
  for (const auto& step : proof.steps)
    steps.push_back({{"name", step.name},
                     {"result", step.result},
                     {"belief", step.belief},
                     {"found", step.found},
                     {"consequence", step.consequence}});
  return {{"proven", proof.is_proven},          {"mode_left", proof.mode_left},
          {"offers_tasks", proof.offers_tasks}, {"offers_request_records", proof.offers_requests},
          {"steps", std::move(steps)},          {"left_records", proof.left_records}};
}

void print_proof(const Console& console, const wiring::OrgProofReport& proof) {
  for (const auto& step : proof.steps) {
    console.out << fmt::format("{:<14}{}: {}\n", step.result, step.name, step.belief);
    console.out << "              " << printable(step.found) << '\n';
    if (!step.consequence.empty()) console.out << "              " << step.consequence << '\n';
  }
  console.out << fmt::format("mode left: {}; tasks: {}; request records: {}\n", proof.mode_left,
                             proof.offers_tasks ? "yes" : "no", proof.offers_requests ? "yes" : "no");
  for (const std::string& record : proof.left_records)
    console.info(fmt::format("{} was not deleted: the user may not; delete it before giftsync runs", record));
}

}  // namespace

namespace {

/// Before the warnings. "crm.fallback_owner: the CRM has ...; name ..." is subject, finding and remedy.
void add_user_faults(const Settings& settings, wiring::OrgCheck& check) {
  std::vector<wiring::OrgFinding> faults;
  for (const std::string& fault : wiring::crm_user_faults(settings)) {
    const std::size_t subject = fault.find(": ");
    const std::size_t remedy = fault.rfind("; ");
    faults.push_back({Severity::fault, fault.substr(0, subject),
                      fault.substr(subject + 2, remedy - subject - 2), fault.substr(remedy + 2)});
  }
  check.findings.insert(check.findings.begin(), faults.begin(), faults.end());
}

}  // namespace

int check_crm_org(const Console& console, const Settings& settings, bool json) {
  wiring::OrgCheck check = wiring::check_org(settings);
  if (check.mode != "none") add_user_faults(settings, check);
  const bool is_good = check.texts(Severity::fault).empty();
  const int code = is_good ? EX_OK : EX_CONFIG;
  if (json) {
    console.out << json_text(check_json(settings, check, is_good), 2) << '\n';
    return code;
  }
  console.out << fmt::format("{}: mode {}: {}\n", wiring::crm_location(settings), check.mode, check.reason);
  console.out << fmt::format("mode set: {}{}\n", check.mode_set,
                             check.mode == check.mode_set ? "" : ", which does not work in this org");
  for (const wiring::OrgFinding& finding : check.findings) {
    console.out << fmt::format("{:<8}{}: {}\n", to_word(finding.severity), printable(finding.subject),
                               printable(finding.found));
    if (!finding.remedy.empty()) console.out << "        " << printable(finding.remedy) << '\n';
  }
  return code;
}

int prove_crm_org(const Console& console, const Settings& settings, bool json) {
  const wiring::OrgProofReport proof = wiring::prove_org(settings);
  if (!proof.refusal.empty()) return console.fail(EX_CONFIG, proof.refusal);
  if (json)
    console.out << json_text(proof_json(proof), 2) << '\n';
  else
    print_proof(console, proof);
  return proof.is_proven ? EX_OK : EX_CONFIG;
}

// Deploys giftsync's package into an org of Salesforce.

namespace {

using config::Settings;

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
  console.out << fmt::format("{}: {} written\n", folder, pluralize(*written, "file"));
  console.info(fmt::format("Deploy them with: cd {} && sf project deploy start", folder));
  return EX_OK;
}

/// The first line of standard input, or the token in JSON of the Salesforce CLI; not checked.
std::string read_token(const Console& console) {
  if (console.err_is_terminal)
    console.info(fmt::format("Access token of an admin, or the JSON that shows it ({}):", kTokenCommand));
  std::string text;
  std::getline(console.in, text);
  if (!trimmed(text).starts_with('{')) return std::string(trimmed(text));
  auto json = parse_json(text);
  for (std::string line; !json && text.size() <= kMaxTokenBytes && std::getline(console.in, line);
       json = parse_json(text))
    text += line;
  const JsonValue* result = json ? json->root().find("result") : nullptr;
  const JsonValue* token = result == nullptr ? nullptr : result->find("accessToken");
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
      console.out << fmt::format("{}: {} {}\n", address, pluralize(result.components, "component"),
                                 is_check_only ? "would be deployed" : "deployed");
      for (const std::string& component : result.replaced)
        if (is_check_only) console.out << "would replace " << component << '\n';
      if (!is_check_only)
        console.info(
            fmt::format("Next: assign the permission sets {} to the integration user and Admin to yourself "
                        "(Setup, Users), then run giftsyncctl crm check.",
                        wiring::kIntegrationPermissionSet));
      return EX_OK;
    case Kind::refused:
      for (const std::string& failure : result.failures) console.out << failure << '\n';
      return console.fail(
          EX_CONFIG, fmt::format("{} refuses the package{}{}; nothing was changed (Setup, Deployment Status "
                                 "shows {})",
                                 address, result.message.empty() ? "" : ": ", result.message, result.id));
    case Kind::not_started:
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
                pluralize(checked.replaced.size(), "component"))))
      return *code;
  }
  return print_result(console, deploy(false), *address, false);
}

}  // namespace

void add_crm_setup_command(Commands& commands, Command& crm) {
  const auto options = std::make_shared<SetupOptions>();
  Command* verb = commands.verb(
      crm, "setup",
      "Deploy giftsync's objects, fields, validation rules and permission sets into an org of Salesforce. "
      "Standard input has the access token of an admin, which is neither stored nor printed. All components "
      "are deployed, or none. The org checks them first; those that it has under the same names with other "
      "contents, permission sets and layouts among them, are listed and replaced after a confirmation.",
      {"crm setup --domain https://acme.my.salesforce.com < token", "crm setup --check-only < token",
       "crm setup --out giftsync-salesforce"});
  Option* domain = verb->add_option("--domain", options->domain,
                                    "The org's My Domain URL; default: crm.salesforce.domain of the settings")
                       ->option_text("URL");
  Option* check_only =
      verb->add_flag("--check-only", options->is_check_only,
                     "Let the org check the package and list what would be replaced; change nothing");
  add_yes_flag(*verb, options->yes);
  verb->add_option("--out", options->folder,
                   "Write the sfdx project into a new folder instead, for \"sf project deploy start\"")
      ->option_text("DIR")
      ->excludes(check_only)
      ->excludes(domain);
  // The settings may still be unfinished or missing: their keys come from the app that is made after this.
  commands.run_without_store(verb, [options](const Console& console, const config::SettingsReading& file) {
    return set_up(console, file.settings, *options);
  });
}

}  // namespace giftsync::cli
