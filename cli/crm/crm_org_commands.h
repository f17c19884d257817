// cli: what `crm check` does where the CRM is an org of Salesforce.
#pragma once

#include "cli/console.h"
#include "daemon/config/settings.h"

namespace giftsync::cli {

/// Prints the org's mode and all findings. The exit code is 78 if one of them is a fault.
int check_crm_org(const Console& console, const config::Settings& settings, bool json);

/// Tries in the org what giftsync believes of Salesforce, and prints what held. The exit code is 78 if
/// something did not, or could not be tried.
int prove_crm_org(const Console& console, const config::Settings& settings, bool json);

}  // namespace giftsync::cli
