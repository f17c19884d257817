// daemon: what the endpoints and the workers share. The members are in the order of construction; the
// application builds and destroys them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/config/settings.h"
#include "daemon/gift_log.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/call_deadline.h"
#include "platform/clock.h"
#include "platform/digest.h"
#include "schema/sql/query_watchdog.h"
#include "schema/store/server_check.h"
#include "schema/store/shared_text.h"
#include "schema/store/store.h"
#include "sync/gift/gift_links.h"

namespace giftsync::daemon {

/// Building it from the first three members migrates the store and throws as Application does.
struct SharedParts {
  const config::Settings settings;
  TrustedClock& trusted_clock;
  const std::string instance_id;  ///< of the daemon
  const store::ServerCheck server_check{wiring::store_dsn(settings.store), wiring::server_file(settings)};
  store::Store store{wiring::migrate_and_check_databases(settings)};
  sql::QueryWatchdog query_watchdog{{}};  ///< starts after the migration, which may take long
  const sync::LinkSigner signer{wiring::load_server_secret(settings, store)};
  CallDeadline crm_calls{};  ///< of a remote CRM
  const std::unique_ptr<crm::Crm> crm = wiring::make_crm(settings, wiring::LookupDuration::bounded, [this] {
    return crm_calls.may_continue() && ThreadCallDeadline::may_continue();
  });
  const sync::GiftLinks links{settings.server.base_url, signer};
  /// The store's id, part of its Message-IDs.
  const std::string installation_id = store.set_metadata_if_absent(store::kInstallationIdFact, random_hex(8));
  GiftLog gift_log{};
};

// Keeps the roles that the CRM gives to the console's users (SIGN-10). Where each call counts one
// daemon of the store asks for all (ORG-15). One thread at a time.

class CrmRoleRefresh {
 public:
  /// `shared` must outlive it.
  explicit CrmRoleRefresh(SharedParts& shared);

  /// Asks the CRM when it is time: every 30 s, or as the settings say where each call counts. While the CRM
  /// does not respond the roles stay. Throws DependencyError of the store.
  void run(UtcMillis now);

 private:
  bool asks_itself();

  SharedParts& shared_;
  const store::SharedText read_at_;  ///< by any daemon
  UtcMillis asked_at_{INT64_MIN / 2};
  std::int64_t refusal_millis_ = 0;  ///< the least wait after a refusal that only an admin can end
  bool has_begun_ = false;
};

/// The roles of one address for a sign-in; nullopt while the CRM does not respond. Any thread.
std::optional<std::vector<store::UserRole>> crm_roles_of(SharedParts& shared, const std::string& address);

}  // namespace giftsync::daemon
