#include "daemon/wiring/org_check.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "crm/salesforce/calls/call_governor.h"
#include "crm/salesforce/org/org_description.h"
#include "crm/salesforce/org/org_findings.h"
#include "crm/salesforce/org/org_proof.h"
#include "crm/salesforce/org/package.h"
#include "crm/salesforce/org/package_deploy.h"
#include "crm/salesforce/org/write_mode.h"
#include "crm/salesforce/records/outbound_message.h"
#include "daemon/config/text_checks.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/salesforce_config.h"
#include "platform/clock.h"
#include "platform/http_client.h"

namespace giftsync::wiring {
namespace {

constexpr std::int64_t kFirstTrialId = 9'000'000'000'000'000;
constexpr std::int64_t kTrialIds = 1'000'000'000'000;

using salesforce::AccessToken;
using salesforce::OrgExpectations;

OrgExpectations expectations_of(const config::Settings& settings) {
  const config::SalesforceSettings& salesforce = settings.crm.salesforce;
  return {.names = org_names(settings.crm),
          .match_fields = match_fields(settings.matching),
          .api_version = salesforce.api_version,
          .integration_user = settings.crm.integration_user,
          .is_bare = salesforce.mode == config::SalesforceMode::bare,
          .has_tasks = settings.tasks.enabled,
          .task_fields = task_fields_of(settings.tasks),
          .has_requests = settings.requests.enabled,
          .auto_approves_requests = settings.requests.auto_approved_default,
          .share_percent = static_cast<int>(salesforce.share),
          .keep_free_percent = static_cast<int>(salesforce.keep_free)};
}

/// A change of the calls that all daemons and commands count.
void change_calls(const salesforce::GovernorStorage& storage, const salesforce::GovernorOptions& options,
                  const std::function<void(salesforce::CallGovernor&)>& action) {
  storage([&](const std::optional<std::string>& state) {
    salesforce::CallGovernor governor(options);
    if (state) governor.read_text(*state);
    action(governor);
    return governor.to_text();
  });
}

/// The calls of a check are made whatever the others rest for, and are counted.
void count_calls(OrgConnection& connection, const config::Settings& settings) {
  constexpr const char* kFreePath = "/services/data";
  connection.client().set_on_answer(
      [storage = connection.governor_storage(), options = governor_options(settings.crm.salesforce)](
          const std::string& path, const std::optional<salesforce::LimitInfo>& usage) {
        if (path == kFreePath) return;
        const UtcMillis now = system_now();
        change_calls(storage, options, [&](salesforce::CallGovernor& governor) {
          governor.note_call(now);
          if (usage) governor.note_limits(*usage, now);
        });
      });
}

/// An org that answered a check answers the others too.
void end_rest(OrgConnection& connection, const config::Settings& settings) {
  change_calls(connection.governor_storage(), governor_options(settings.crm.salesforce),
               [](salesforce::CallGovernor& governor) {
                 governor.end_rest();
                 governor.note_recovery();
               });
}

/// Empty where the sign-in fails, which the first call tells.
std::string user_of(salesforce::AccessTokens& tokens) {
  const salesforce::TokenOutcome outcome = tokens.current();
  const auto* token = std::get_if<AccessToken>(&outcome);
  return token == nullptr ? std::string() : token->session.user_id;
}

OrgFinding::Severity severity_of(salesforce::Finding::Severity severity) {
  using Found = salesforce::Finding::Severity;
  if (severity == Found::fault) return OrgFinding::Severity::fault;
  return severity == Found::warning ? OrgFinding::Severity::warning : OrgFinding::Severity::note;
}

}  // namespace

std::string OrgFinding::text() const {
  return fmt::format("{}: {}{}{}", subject, found, remedy.empty() ? "" : "; ", remedy);
}

std::string_view to_word(OrgFinding::Severity severity) {
  constexpr auto kWords = std::to_array<std::string_view>({"note", "warning", "fault"});
  return kWords[static_cast<std::size_t>(severity)];
}

std::vector<std::string> OrgCheck::texts(OrgFinding::Severity severity) const {
  std::vector<std::string> texts;
  for (const OrgFinding& finding : findings) {
    if (finding.severity == severity) texts.push_back(finding.text());
  }
  return texts;
}

OrgCheck check_org(const config::Settings& settings) {
  OrgConnection connection(settings);
  count_calls(connection, settings);
  const OrgExpectations expected = expectations_of(settings);
  const salesforce::OrgFacts facts = salesforce::describe_org(
      connection.client(), {expected.names, expected.api_version, user_of(connection.tokens())});
  if (const auto* request = facts.find("request_record"); request && !request->key_prefix.empty())
    salesforce::store_request_object(connection.facts(), request->key_prefix, request->name);
  const salesforce::OrgReport report = check(facts, expected);
  // Daemons use it from now on, for example after a repair.
  if (!facts.objects.empty()) {
    salesforce::store_mode(connection.facts(), facts, expected.names, system_now());
    end_rest(connection, settings);
    connection.wake_crm_workers();
  }
  OrgCheck check{.organization_id = facts.organization_id,
                 .is_sandbox = facts.is_sandbox,
                 .mode = std::string(to_word(report.mode)),
                 .mode_set = expected.is_bare ? "bare" : "guarded",
                 .reason = report.reason,
                 .offers_tasks = report.offers_tasks,
                 .offers_requests = report.offers_requests,
                 .findings = {}};
  for (const auto& finding : report.findings)
    check.findings.push_back({severity_of(finding.severity), finding.subject, finding.found, finding.remedy});
  return check;
}

OrgProofReport prove_org(const config::Settings& settings) {
  OrgConnection connection(settings);
  count_calls(connection, settings);
  const OrgExpectations expected = expectations_of(settings);
  const salesforce::OrgFacts facts = salesforce::describe_org(
      connection.client(), {expected.names, expected.api_version, user_of(connection.tokens())});
  if (!salesforce::is_trial_org(facts))
    return {.refusal = "the org is neither a sandbox nor a Developer Edition org; nothing was tried"};
  if (const auto report = check(facts, expected); report.mode != salesforce::OrgMode::guarded)
    return {.refusal = "giftsync's package is not complete, see giftsyncctl crm check: " + report.reason};
  // No gift has ids of this size; each run has its own.
  const std::int64_t transaction = kFirstTrialId + system_now().value % kTrialIds;
  const salesforce::OrgProof proof = salesforce::prove_org(
      connection.client(),
      {.names = expected.names,
       .api_version = expected.api_version,
       .transaction = transaction,
       .pause = [](std::int64_t millis) { std::this_thread::sleep_for(std::chrono::milliseconds(millis)); }});
  OrgProofReport report{.mode_left = std::string(to_word(proof.mode_left)),
                        .offers_tasks = proof.offers_tasks,
                        .offers_requests = proof.offers_requests,
                        .is_proven = !proof.has_failed(),
                        .left_records = proof.left_records};
  for (const auto& step : proof.steps)
    report.steps.push_back(
        {step.name, std::string(to_word(step.result)), step.belief, step.found, step.consequence});
  return report;
}

namespace {

namespace fs = std::filesystem;
using salesforce::DeployFault;
using salesforce::Deployment;
using salesforce::PackageDeploy;

/// A look that gets no answer is repeated: the deployment goes on without it.
constexpr int kLostLooks = 5;

bool write_file(const fs::path& path, const std::string& text) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return !failure && !file.fail();
}

/// The deployment after another look.
tl::expected<Deployment, DeployFault> look_again(PackageDeploy& deploy, const std::string& id,
                                                 const std::function<void()>& pause) {
  tl::expected<Deployment, DeployFault> deployment;
  for (int tries = 0; tries < kLostLooks; ++tries) {
    pause();
    deployment = deploy.look(id);
    if (deployment || !deployment.error().is_transient) break;
  }
  return deployment;
}

SetupResult result_of(const Deployment& deployment) {
  SetupResult result{.kind = deployment.is_success ? SetupResult::Kind::done : SetupResult::Kind::refused,
                     .id = deployment.id,
                     .components = deployment.total,
                     .message = deployment.message,
                     .replaced = deployment.replaced};
  for (const auto& failure : deployment.failures) result.failures.push_back(to_text(failure));
  return result;
}

}  // namespace

tl::expected<std::size_t, std::string> write_package_project(const std::string& folder) {
  std::error_code failure;
  if (fs::exists(folder, failure) && (!fs::is_directory(folder, failure) || !fs::is_empty(folder, failure)))
    return tl::unexpected(folder + " is not an empty folder; name a new one");
  const auto files = salesforce::package_sources();
  for (const auto& file : files) {
    const fs::path path = fs::path(folder) / file.path;
    if (!write_file(path, file.text))
      return tl::unexpected(fmt::format("{} cannot be written", path.string()));
  }
  return files.size();
}

tl::expected<std::string, std::string> org_address(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  const std::size_t host = text.find("://");
  if (host == std::string::npos || text.find('/', host + 3) != std::string::npos ||
      text.find_first_of("?#@ ", host) != std::string::npos || !is_https_or_loopback(text))
    return tl::unexpected(fmt::format(
        "found \"{}\"; allowed: the org's My Domain URL such as https://acme.my.salesforce.com", text));
  return text;
}

SetupResult deploy_package(const PackageSetup& setup, const std::function<void(const SetupProgress&)>& report,
                           const std::function<void()>& pause) {
  using Kind = SetupResult::Kind;
  HttpClient http({.bypass_proxy = config::is_loopback_host(config::host_of_url(setup.address))});
  PackageDeploy deploy(http, {setup.address, setup.access_token, setup.api_version});
  const auto package = salesforce::metadata_package(salesforce::package_sources(), setup.api_version);
  tl::expected<Deployment, DeployFault> deployment =
      deploy.begin(salesforce::zip_of(package), setup.is_check_only);
  std::string id;
  while (deployment && !deployment->is_done) {
    id = deployment->id;
    report({deployment->status, deployment->deployed, deployment->total});
    deployment = look_again(deploy, id, pause);
  }
  if (deployment) return result_of(*deployment);
  const DeployFault& fault = deployment.error();
  return {
      .kind = fault.is_transient ? Kind::unreachable : Kind::not_started, .id = id, .message = fault.message};
}

}  // namespace giftsync::wiring
