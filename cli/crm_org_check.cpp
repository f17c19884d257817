#include "cli/crm_org_check.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <utility>

#include "cli/listing.h"
#include "wiring/database_config.h"
#include "wiring/org_check.h"

namespace giftsync::cli {
namespace {

using daemon::config::Settings;
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

int check_crm_org(const Console& console, const Settings& settings, bool json) {
  const wiring::OrgCheck check = wiring::check_org(settings);
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

}  // namespace giftsync::cli
