// daemon/salesforce: an org of Salesforce as a CRM. In guarded mode (ORG-8) the org has giftsync's package,
// whose rules keep an older version from overwriting a newer one, and a request record from being written
// when it is not as it was read. In bare mode (ORG-9) another owner's package is written by one writer at a
// time, without request records. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/salesforce/access_token.h"
#include "daemon/salesforce/api_client.h"
#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/bare_writes.h"
#include "daemon/salesforce/call_governor.h"
#include "daemon/salesforce/governor_storage.h"
#include "daemon/salesforce/legacy_status_log.h"
#include "daemon/salesforce/request_poll.h"
#include "platform/clock.h"
#include "schema/crm/crm.h"

namespace giftsync::daemon::salesforce {

struct SalesforceCrmOptions {
  ApiNames names;  ///< without the fields that the org does not have
  schema::crm::MatchFields match_fields;
  std::string api_version = "62.0";
  GovernorOptions governor = {};
  GovernorStorage governor_storage = nullptr;  ///< without it the state lives as long as the CRM
  StatusLogNames status_log = {};
  bool has_tasks = true;
  std::optional<RequestPollOptions> request_records = std::nullopt;  ///< without it there are none
  /// Where the mode that was found is kept. Without it the org is guarded, and nothing is asked of it.
  std::optional<FactStorage> mode_facts = std::nullopt;
  std::optional<BareOptions> bare = std::nullopt;  ///< bare mode; needs mode_facts, excludes request_records
  platform::Clock clock = platform::system_now;
};

/// `client` outlives the CRM. No call is made before the first use.
std::unique_ptr<schema::crm::Crm> make_salesforce_crm(ApiClient& client, SalesforceCrmOptions options);

}  // namespace giftsync::daemon::salesforce
