// wiring: the org of Salesforce that the settings name (crm.type: salesforce): the client of its API with the
// session that all daemons and commands share through the store, the names in the org, and the adapter over
// them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "crm/crm.h"
#include "crm/salesforce/calls/access_token.h"
#include "crm/salesforce/calls/api_client.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/call_governor.h"
#include "crm/salesforce/calls/sign_in.h"
#include "crm/salesforce/records/bare_writes.h"
#include "crm/salesforce/records/request_poll.h"
#include "daemon/config/settings.h"
#include "platform/http_client.h"
#include "schema/store/daemon_instances.h"
#include "schema/store/shared_text.h"
#include "schema/store/store.h"

namespace giftsync::wiring {

/// Opens the store when something is first asked of it or of the org, so that a command that uses no CRM
/// needs neither a store nor a server secret; that use throws DependencyError where the store cannot be
/// opened, and ConfigError for a key that is none. Any thread.
class OrgConnection {
 public:
  /// Where this process cannot read the server secret, its session is its own. `keep_going`: false ends
  /// running calls; may be null.
  explicit OrgConnection(const config::Settings& settings, KeepGoing keep_going = nullptr);

  salesforce::AccessTokens& tokens() { return parts().tokens; }
  salesforce::ApiClient& client() { return client_; }
  /// These are valid as long as this object.
  salesforce::GovernorStorage governor_storage();
  salesforce::FactStorage facts();
  salesforce::PushedEvents pushed_events();
  /// Wakes the workers of all daemons of the store.
  void wake_crm_workers();
  /// The options of one adapter: each has another owner's name.
  salesforce::BareOptions bare_options();

 private:
  struct Parts {
    Parts(const config::Settings& settings, HttpClient& http, const KeepGoing& keep_going);
    store::Store store;
    store::SharedText governor_state;
    store::WriterLease writer_lease;
    salesforce::AccessTokens tokens;
  };
  Parts& parts();

  const config::Settings settings_;
  const KeepGoing keep_going_;
  HttpClient http_;
  std::mutex mutex_;  // of the opening
  std::optional<Parts> parts_;
  salesforce::ApiClient client_;
};

/// The names that giftsync uses in the org. CreatedById is left out unless crm.columns names it: the org
/// refuses it without a permission of its own.
salesforce::ApiNames org_names(const config::CrmSettings& crm);

salesforce::GovernorOptions governor_options(const config::SalesforceSettings& salesforce);

/// Request records need the rules of giftsync's package.
bool org_has_request_records(const config::Settings& settings);

/// The adapter; it connects to the store and the org on its first use. With requests.enabled off the org is
/// not polled for request records.
std::unique_ptr<crm::Crm> make_org_crm(const config::Settings& settings, KeepGoing keep_going);

/// A sign-in of its own: it neither uses nor changes what is stored.
salesforce::SignInOutcome sign_in_afresh(const config::Settings& settings);

/// "Salesforce (https://acme.my.salesforce.com)".
std::string org_location(const config::Settings& settings);

}  // namespace giftsync::wiring
