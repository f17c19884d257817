// wiring: examines the org of Salesforce that the settings name (crm.type: salesforce).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "crm/salesforce/calls/api_names.h"
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

/// What was tried in the org, see crm/salesforce/org/org_proof.h.
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
OrgProofReport prove_org(const config::Settings& settings);

/// Calls the org, and stores what outbound messages are compared with (MSG-6). Throws
/// DependencyError where it does not answer or refuses the sign-in, and ConfigError for a key that
/// is none.
OrgCheck check_org(const config::Settings& settings);

// giftsync's package for Salesforce: written as a project of source files, or deployed into an org
// with an admin's own session.

/// Writes the sfdx project into a new or empty folder. Returns the number of files, or why it cannot.
tl::expected<std::size_t, std::string> write_package_project(const std::string& folder);

inline constexpr std::string_view kIntegrationPermissionSet = salesforce::kIntegrationPermissionSet;

/// "https://acme.my.salesforce.com", or why this is no address of an org.
tl::expected<std::string, std::string> org_address(std::string text);

struct PackageSetup {
  std::string address;       ///< of org_address()
  std::string access_token;  ///< of an admin; a secret
  std::string api_version = "62.0";
  bool is_check_only = false;  ///< the org says what it would refuse, and changes nothing
};

struct SetupProgress {
  std::string status;  ///< Salesforce's word: "InProgress"
  std::size_t deployed = 0;
  std::size_t total = 0;  ///< 0: not known yet
};

struct SetupResult {
  enum class Kind {
    done,
    refused,      ///< the org refuses components: `failures`
    not_started,  ///< the org refuses the deployment: `message`
    unreachable   ///< `message`; the deployment may go on where `id` is not empty
  };
  Kind kind = Kind::done;
  std::string id;  ///< of the deployment, which Setup, Deployment Status shows
  std::size_t components = 0;
  std::string message = {};
  std::vector<std::string> failures = {};  ///< "FILE:LINE: Salesforce's words (TYPE NAME)"
  std::vector<std::string> replaced = {};  ///< "PermissionSet Admin": there before, with other contents
};

/// Follows the deployment to its end; `report` is called at each look, `pause` between two looks.
SetupResult deploy_package(const PackageSetup& setup, const std::function<void(const SetupProgress&)>& report,
                           const std::function<void()>& pause);

}  // namespace giftsync::wiring
