// daemon/config: rules between the keys of `crm` and of what depends on the kind of CRM.
#pragma once

#include "daemon/config/parsed_config.h"

namespace giftsync::daemon::config {

/// Adds a fault for each key that the kind of CRM requires or does not use, for request records that it does
/// not have (SYNC-50), and for a private key that cannot sign. In Salesforce there is no namespace unless the
/// file names one.
void check_crm_keys(ParsedConfig& parsed);

}  // namespace giftsync::daemon::config
