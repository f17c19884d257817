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
  std::string mode;    ///< "guarded", "bare", "none"
  std::string reason;  ///< of the mode
  bool offers_tasks = false;
  bool offers_requests = false;
  std::vector<OrgFinding> findings;  ///< faults, then warnings, then notes

  std::vector<std::string> texts(OrgFinding::Severity severity) const;
};

/// Calls the org. Throws platform::DependencyError where it does not answer or refuses the sign-in, and
/// ConfigError for a key that is none.
OrgCheck check_org(const daemon::config::Settings& settings);

}  // namespace giftsync::wiring
