#include "wiring/org_check.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "daemon/salesforce/call_governor.h"
#include "daemon/salesforce/mode_watch.h"
#include "daemon/salesforce/org_description.h"
#include "daemon/salesforce/org_findings.h"
#include "daemon/salesforce/org_proof.h"
#include "daemon/salesforce/request_object.h"
#include "platform/clock.h"
#include "wiring/database_config.h"
#include "wiring/salesforce_config.h"

namespace giftsync::wiring {
namespace {

constexpr std::int64_t kFirstTrialId = 9'000'000'000'000'000;
constexpr std::int64_t kTrialIds = 1'000'000'000'000;

using daemon::salesforce::AccessToken;
using daemon::salesforce::OrgExpectations;

OrgExpectations expectations_of(const daemon::config::Settings& settings) {
  const daemon::config::SalesforceSettings& salesforce = settings.crm.salesforce;
  return {.names = org_names(settings.crm),
          .match_fields = match_fields(settings.matching),
          .api_version = salesforce.api_version,
          .integration_user = settings.crm.integration_user,
          .is_bare = salesforce.mode == daemon::config::SalesforceMode::bare,
          .has_tasks = settings.tasks.enabled,
          .has_requests = settings.requests.enabled,
          .auto_approves_requests = settings.requests.auto_approved_default,
          .share_percent = static_cast<int>(salesforce.share),
          .keep_free_percent = static_cast<int>(salesforce.keep_free)};
}

/// A change of the calls that all daemons and commands count.
void change_calls(const daemon::salesforce::GovernorStorage& storage,
                  const daemon::salesforce::GovernorOptions& options,
                  const std::function<void(daemon::salesforce::CallGovernor&)>& action) {
  storage([&](const std::optional<std::string>& state) {
    daemon::salesforce::CallGovernor governor(options);
    if (state) governor.read_text(*state);
    action(governor);
    return governor.to_text();
  });
}

/// The calls of a check are made whatever the others rest for, and are counted.
void count_calls(OrgConnection& connection, const daemon::config::Settings& settings) {
  constexpr const char* kFreePath = "/services/data";
  connection.client().set_on_answer(
      [storage = connection.governor_storage(), options = governor_options(settings.crm.salesforce)](
          const std::string& path, const std::optional<daemon::salesforce::LimitInfo>& usage) {
        if (path == kFreePath) return;
        const platform::UtcMillis now = platform::system_now();
        change_calls(storage, options, [&](daemon::salesforce::CallGovernor& governor) {
          governor.note_call(now);
          if (usage) governor.note_limits(*usage, now);
        });
      });
}

/// An org that answered a check answers the others too.
void end_rest(OrgConnection& connection, const daemon::config::Settings& settings) {
  change_calls(connection.governor_storage(), governor_options(settings.crm.salesforce),
               [](daemon::salesforce::CallGovernor& governor) {
                 governor.end_rest();
                 governor.note_recovery();
               });
}

/// Empty where the sign-in fails, which the first call tells.
std::string user_of(daemon::salesforce::AccessTokens& tokens) {
  const daemon::salesforce::TokenOutcome outcome = tokens.current();
  const auto* token = std::get_if<AccessToken>(&outcome);
  return token == nullptr ? std::string() : token->session.user_id;
}

OrgFinding::Severity severity_of(daemon::salesforce::Finding::Severity severity) {
  using Found = daemon::salesforce::Finding::Severity;
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

OrgCheck check_org(const daemon::config::Settings& settings) {
  OrgConnection connection(settings);
  count_calls(connection, settings);
  const OrgExpectations expected = expectations_of(settings);
  const daemon::salesforce::OrgFacts facts = daemon::salesforce::describe_org(
      connection.client(), {expected.names, expected.api_version, user_of(connection.tokens())});
  if (const auto* request = facts.find("request_record"); request && !request->key_prefix.empty())
    daemon::salesforce::store_request_object(connection.facts(), request->key_prefix, request->name);
  const daemon::salesforce::OrgReport report = examine(facts, expected);
  // Daemons use it from now on, for example after a repair.
  if (!facts.objects.empty()) {
    daemon::salesforce::store_mode(connection.facts(), facts, expected.names, platform::system_now());
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

OrgProofReport prove_org(const daemon::config::Settings& settings) {
  OrgConnection connection(settings);
  count_calls(connection, settings);
  const OrgExpectations expected = expectations_of(settings);
  const daemon::salesforce::OrgFacts facts = daemon::salesforce::describe_org(
      connection.client(), {expected.names, expected.api_version, user_of(connection.tokens())});
  if (!daemon::salesforce::is_trial_org(facts))
    return {.refusal = "the org is neither a sandbox nor a Developer Edition org; nothing was tried"};
  if (const auto report = examine(facts, expected); report.mode != daemon::salesforce::OrgMode::guarded)
    return {.refusal = "giftsync's package is not complete, see giftsyncctl crm check: " + report.reason};
  // No gift has ids of this size; each run has its own.
  const std::int64_t transaction = kFirstTrialId + platform::system_now().value % kTrialIds;
  const daemon::salesforce::OrgProof proof = daemon::salesforce::prove_org(
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

}  // namespace giftsync::wiring
