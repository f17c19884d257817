// schema/store: giftsync's own database (SQLite file or PostgreSQL). All parts are thread-safe. A database
// error throws DependencyError; `transient` says whether a retry may succeed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platform/dependency_error.h"
#include "schema/sql/dsn.h"
#include "schema/store/accounts.h"
#include "schema/store/approver_notices.h"
#include "schema/store/audit_log.h"
#include "schema/store/backfill_store.h"
#include "schema/store/catalogue.h"
#include "schema/store/change_log.h"
#include "schema/store/console_gifts.h"
#include "schema/store/console_sessions.h"
#include "schema/store/console_users.h"
#include "schema/store/crm_change_events.h"
#include "schema/store/delivery_queue.h"
#include "schema/store/donations.h"
#include "schema/store/external_ids.h"
#include "schema/store/gift_codes.h"
#include "schema/store/gift_requests.h"
#include "schema/store/lifecycle_store.h"
#include "schema/store/message_tokens.h"
#include "schema/store/organizations.h"
#include "schema/store/page_views.h"
#include "schema/store/refused_messages.h"
#include "schema/store/request_records.h"
#include "schema/store/sender_notices.h"
#include "schema/store/sign_in_attempts.h"
#include "schema/store/sources.h"
#include "schema/store/sync_queue.h"
#include "schema/store/urgent_writes.h"
#include "schema/store/user_identities.h"

namespace giftsync::schema::store {

/// The version of the store's tables that this program reads and writes.
inline constexpr int kStoreVersion = 3;

/// The store cannot be used by this program: it is newer, or a development version made it. Not transient. An
/// administrator has to act, so both programs exit 78.
class IncompatibleStoreError : public platform::DependencyError {
 public:
  explicit IncompatibleStoreError(const std::string& what) : DependencyError(false, what) {}
};

/// Creates or upgrades the store's tables. Safe at every start and in two processes at once. Throws
/// IncompatibleStoreError, without a change.
void migrate_store(const sql::Dsn& dsn);
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
  std::optional<std::string> fact(const std::string& name);
  /// Sets the value only if there is none; returns the stored one.
  std::string set_metadata_if_absent(const std::string& name, const std::string& value);
  /// Replaces the value.
  void set_metadata(const std::string& name, const std::string& value);
  /// True when giftsync has created no gift request here; gifts that were sent elsewhere do not count.
  bool is_unused();
  /// Throws DependencyError when the database does not respond or cannot be written.
  void check_writable();
  /// From now on every call throws platform::DependencyError with this reason.
  void refuse_use(const std::string& reason);

 private:
  std::shared_ptr<sql::Database> database_;
  MailTurns mail_turns_;

 public:
  Accounts accounts;
  Organizations organizations;
  Catalogue catalogue;
  GiftRequests gifts;
  ChangeLog changes;
  SyncQueue sync;
  DeliveryQueue deliveries;
  Sources sources;
  RefusedMessages refused_messages;
  ExternalIds external_ids;
  BackfillStore backfill;
  RequestRecords request_records;
  MessageTokens message_tokens;
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
};

/// The same through a separate connection, for a dsn without an open Store.
void check_store_writable(const sql::Dsn& dsn);

}  // namespace giftsync::schema::store
