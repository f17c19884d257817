// schema/store: giftsync's own database (SQLite file or PostgreSQL). All parts are thread-safe. A database
// error throws DependencyError; `transient` says whether a retry may succeed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "schema/sql/dsn.h"
#include "schema/store/account/accounts.h"
#include "schema/store/account/console_sessions.h"
#include "schema/store/account/console_users.h"
#include "schema/store/account/credentials.h"
#include "schema/store/account/organizations.h"
#include "schema/store/console_gifts.h"
#include "schema/store/crm/backfill_store.h"
#include "schema/store/crm/crm_change_events.h"
#include "schema/store/crm/request_records.h"
#include "schema/store/crm/urgent_writes.h"
#include "schema/store/event/feed.h"
#include "schema/store/event/refused_messages.h"
#include "schema/store/event/sources.h"
#include "schema/store/event/webhook_endpoints.h"
#include "schema/store/gift/catalogue.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/do_not_send.h"
#include "schema/store/gift/external_ids.h"
#include "schema/store/gift/gift_codes.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/held_gift_requests.h"
#include "schema/store/gift/person_traces.h"
#include "schema/store/gift/sending_usage.h"
#include "schema/store/gift/sync_queue.h"
#include "schema/store/gift/test_gifts.h"
#include "schema/store/mail/alerts.h"
#include "schema/store/mail/delivery_queue.h"
#include "schema/store/mail/lifecycle_store.h"
#include "schema/store/mail/mail_pauses.h"
#include "schema/store/mail/notices.h"
#include "schema/store/page_views.h"
#include "schema/store/rollups.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

/// The version of the store's tables that this program reads and writes.
extern const int kStoreVersion;

/// The store cannot be used by this program: it is newer, or a development version made it. Not transient. An
/// administrator has to act, so both programs exit 78.
class IncompatibleStoreError : public DependencyError {
 public:
  explicit IncompatibleStoreError(const std::string& what) : DependencyError(false, what) {}
};

/// Gets a line about what a migration waits for.
using SayMigration = std::function<void(const std::string&)>;

/// Creates or upgrades the store's tables. Safe at every start and in two processes at once. What takes long
/// is left to the daemon (background_work.h). Throws IncompatibleStoreError, without a change.
void migrate_store(
    const sql::Dsn& dsn, const SayMigration& say = [](const std::string&) {});
/// 0 when there are no tables yet. Throws IncompatibleStoreError when a development version made the store;
/// call it, or migrate_store, before a Store is opened.
int store_version(const sql::Dsn& dsn);

/// The fact that names this store in the Message-IDs of its mails.
inline constexpr const char* kInstallationIdFact = "installation_id";

class Store {
 public:
  explicit Store(const sql::Dsn& dsn);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Metadata of the store, such as the fingerprint of the server secret.
  std::optional<std::string> metadata(const std::string& name);
  /// Sets the value only if there is none; returns the stored one.
  std::string set_metadata_if_absent(const std::string& name, const std::string& value);
  /// Replaces the value.
  void set_metadata(const std::string& name, const std::string& value);
  /// True when giftsync has created no gift request here; gifts that were sent elsewhere do not count.
  bool is_unused();
  /// Throws DependencyError when the database does not respond or cannot be written.
  void check_writable();
  /// Whether what changes gifts through this store marks them for the feed (API-10); not at first. Any
  /// thread.
  void keep_feed(bool keeps);
  /// From now on every call throws DependencyError with this reason.
  void refuse_use(const std::string& reason);

 private:
  std::shared_ptr<sql::Database> database_;
  MailTurns mail_turns_;

 public:
  Accounts accounts;
  Organizations organizations;
  Credentials credentials;
  Catalogue catalogue;
  SendingUsage sending_usage;
  GiftRequests gifts;
  HeldGiftRequests held;
  ChangeLog changes;
  SyncQueue sync;
  DeliveryQueue deliveries;
  MailPauses mail_pauses;
  Sources sources;
  RefusedMessages refused_messages;
  ExternalIds external_ids;
  BackfillStore backfill;
  RequestRecords request_records;
  CrmChangeEvents crm_change_events;
  Donations donations;
  GiftCodes codes;
  PageViews page_views;
  LifecycleStore lifecycle;
  UrgentWrites urgent_writes;
  AuditLog audit;
  ConsoleUsers console_users;
  ConsoleSessions console_sessions;
  SignInAttempts sign_in_attempts;
  UserIdentities user_identities;
  SignInConnections sign_in_connections;
  ConsoleGifts console_gifts;
  ApproverNotices approver_notices;
  SenderNotices sender_notices;
  SignInMails sign_in_mails;
  DoNotSend do_not_send;
  PersonTraces person_traces;
  TestGifts test_gifts;
  Alerts alerts;
  WebhookEndpoints webhooks;
  Feed feed;
  Rollups rollups;
};

/// The same through a separate connection, for a dsn without an open Store.
void check_store_writable(const sql::Dsn& dsn);

// Brings a store to the newest version by numbered SQL scripts. Internal to schema/store and
// its tests. Thread-safe; safe across processes.

/// Scripts as sql::run_script takes them. Script i brings a store of version i to version i + 1; the first
/// one creates the store.
using MigrationScripts = std::span<const std::string_view>;

/// The store's version; 0 when there are no tables yet. Throws IncompatibleStoreError when the tables were
/// not made by these scripts. A version beyond the scripts is returned without that check.
int read_store_version(const sql::Dsn& dsn, MigrationScripts scripts);

/// Runs the scripts that the store lacks, in one transaction (on PostgreSQL each column before, in one of its
/// own), and records the version and the fingerprint of the scripts. Throws IncompatibleStoreError, without a
/// change, when the store is newer than the scripts or was not made by them.
/// A script with the line "--@after_background" waits until the background parts of those before it are done.
void run_migration(
    const sql::Dsn& dsn, MigrationScripts scripts, const SayMigration& say = [](const std::string&) {});

/// Those of the program.
MigrationScripts store_scripts();

/// In the store's metadata: how much of the background parts is done.
inline constexpr const char* kBackgroundFact = "background_work";

// A mark by which a command tells all daemons of a store to ask a CRM again that they leave
// alone for a while (SYNC-70). Any thread.

/// In the store's metadata; its text changes each time. Daemons read it while they leave the CRM alone.
inline constexpr const char* kCrmWakeFact = "crm_wake";

/// Throws DependencyError.
inline void wake_crm_workers(Store& store) {
  constexpr std::size_t kMarkBytes = 8;
  store.set_metadata(kCrmWakeFact, random_hex(kMarkBytes));
}

}  // namespace giftsync::store
