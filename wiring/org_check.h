// wiring: examines the org of Salesforce that the settings name (crm.type: salesforce).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::wiring {

struct OrgFinding {
  enum class Severity { note, warning, fault };
  Severity severity = Severity::note;
  std::string subject;
  std::string found;
  std::string remedy;  ///< empty for notes

  std::string text() const;
};
std::string_view to_word(OrgFinding::Severity severity);

struct OrgCheck {
  std::string organization_id;
  bool is_sandbox = false;
  std::string mode;      ///< "guarded", "bare", "none"
  std::string mode_set;  ///< by the settings: "guarded", "bare"
  std::string reason;    ///< of the mode
  bool offers_tasks = false;
  bool offers_requests = false;
  std::vector<OrgFinding> findings;  ///< faults, then warnings, then notes

  std::vector<std::string> texts(OrgFinding::Severity severity) const;
};

/// What was tried in the org, see daemon/salesforce/org_proof.h.
struct OrgProofReport {
  struct Step {
    std::string name;
    std::string result;  ///< "holds", "does not hold", "unknown"
    std::string belief;
    std::string found;
    std::string consequence;  ///< empty where it holds
  };
  std::string refusal = {};  ///< why nothing was tried; empty: it was
  std::vector<Step> steps = {};
  std::string mode_left = {};
  bool offers_tasks = false;
  bool offers_requests = false;
  bool is_proven = false;  ///< every step holds
  std::vector<std::string> left_records = {};
};
/// Makes and deletes records in a sandbox or a Developer Edition org; throws as check_org().
OrgProofReport prove_org(const daemon::config::Settings& settings);

/// Calls the org, and stores what outbound messages are compared with (MSG-6). Throws
/// platform::DependencyError where it does not answer or refuses the sign-in, and ConfigError for a key that
/// is none.
OrgCheck check_org(const daemon::config::Settings& settings);

}  // namespace giftsync::wiring
