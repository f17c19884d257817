// daemon: what the endpoints and the workers share. The members are in the order of construction; the
// application builds and destroys them.
#pragma once

#include <memory>
#include <string>

#include "daemon/config/settings.h"
#include "daemon/gift_log.h"
#include "platform/call_deadline.h"
#include "platform/random.h"
#include "platform/thread_call_deadline.h"
#include "platform/trusted_clock.h"
#include "schema/sql/query_watchdog.h"
#include "schema/store/server_check.h"
#include "schema/store/store.h"
#include "sync/gift_links.h"
#include "sync/link_token.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"
#include "wiring/server_secret_config.h"
#include "wiring/startup_migration.h"

namespace giftsync::daemon {

/// Building it from the first three members migrates the store and throws as Application does.
struct SharedParts {
  const config::Settings settings;
  platform::TrustedClock& trusted_clock;
  const std::string instance_id;  ///< of the daemon
  const schema::store::ServerCheck server_check{wiring::store_dsn(settings.store),
                                                wiring::server_file(settings)};
  schema::store::Store store{wiring::migrate_and_check_databases(settings)};
  schema::sql::QueryWatchdog query_watchdog{{}};  ///< starts after the migration, which may take long
  const sync::LinkSigner signer{wiring::load_server_secret(settings, store)};
  platform::CallDeadline crm_calls{};  ///< of a remote CRM
  const std::unique_ptr<schema::crm::Crm> crm = wiring::make_crm(
      settings, wiring::LookupDuration::bounded,
      [this] { return crm_calls.may_continue() && platform::ThreadCallDeadline::may_continue(); });
  const sync::GiftLinks links{settings.server.base_url, signer};
  /// The store's id, part of its Message-IDs.
  const std::string installation_id =
      store.set_metadata_if_absent(schema::store::kInstallationIdFact, platform::random_hex(8));
  GiftLog gift_log{};
};

}  // namespace giftsync::daemon
