// wiring: the org of Salesforce that the settings name (crm.type: salesforce): the client of its API with the
// session that all daemons and commands share through the store, the names in the org, and the adapter over
// them.
#pragma once

#include <memory>
#include <string>

#include "daemon/config/settings.h"
#include "daemon/salesforce/access_token.h"
#include "daemon/salesforce/api_client.h"
#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/bare_writes.h"
#include "daemon/salesforce/call_governor.h"
#include "daemon/salesforce/governor_storage.h"
#include "daemon/salesforce/sign_in.h"
#include "platform/http_client.h"
#include "schema/crm/crm.h"
#include "schema/store/shared_text.h"
#include "schema/store/store.h"
#include "schema/store/writer_lease.h"

namespace giftsync::wiring {

/// Any thread.
class OrgConnection {
 public:
  /// Opens the store; makes no call. Throws platform::DependencyError. Where this process cannot read the
  /// server secret, its session is its own. `keep_going`: false ends running calls; may be null.
  explicit OrgConnection(const daemon::config::Settings& settings, platform::KeepGoing keep_going = nullptr);

  daemon::salesforce::AccessTokens& tokens() { return tokens_; }
  daemon::salesforce::ApiClient& client() { return client_; }
  /// These are valid as long as this object.
  daemon::salesforce::GovernorStorage governor_storage();
  daemon::salesforce::FactStorage facts();
  schema::store::CrmChangeEvents& change_events() { return store_.crm_change_events; }
  /// Of all daemons of the store.
  void wake_crm_workers();
  /// Of one adapter: each has another owner's name.
  daemon::salesforce::BareOptions bare_options();

 private:
  schema::store::Store store_;
  schema::store::SharedText governor_state_;
  schema::store::WriterLease writer_lease_;
  platform::HttpClient http_;
  daemon::salesforce::AccessTokens tokens_;
  daemon::salesforce::ApiClient client_;
};

/// The names that giftsync uses in the org. CreatedById is left out unless crm.columns names it: the org
/// refuses it without a permission of its own.
daemon::salesforce::ApiNames org_names(const daemon::config::CrmSettings& crm);

daemon::salesforce::GovernorOptions governor_options(const daemon::config::SalesforceSettings& salesforce);

/// Request records need the rules of giftsync's package.
bool org_has_request_records(const daemon::config::Settings& settings);

/// The adapter; it connects to the store and the org on its first use. With requests.enabled off the org is
/// not polled for request records.
std::unique_ptr<schema::crm::Crm> make_org_crm(const daemon::config::Settings& settings,
                                               platform::KeepGoing keep_going);

/// A sign-in of its own: it neither uses nor changes what is stored.
daemon::salesforce::SignInOutcome sign_in_afresh(const daemon::config::Settings& settings);

/// "Salesforce (https://acme.my.salesforce.com)".
std::string org_location(const daemon::config::Settings& settings);

}  // namespace giftsync::wiring
