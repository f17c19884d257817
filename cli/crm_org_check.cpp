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
          {"reason", check.reason},
          {"offers_tasks", check.offers_tasks},
          {"offers_request_records", check.offers_requests},
          {"findings", std::move(findings)}};
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
  for (const wiring::OrgFinding& finding : check.findings) {
    console.out << fmt::format("{:<8}{}: {}\n", to_word(finding.severity), printable(finding.subject),
                               printable(finding.found));
    if (!finding.remedy.empty()) console.out << "        " << printable(finding.remedy) << '\n';
  }
  return code;
}

}  // namespace giftsync::cli
