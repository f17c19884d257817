// schema/store: everything that giftsync knows, in one database (SQLite file or PostgreSQL). Any thread may
// use any part. A database that fails throws BrokenWorld; `transient` says whether waiting may help.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "schema/database_address.h"
#include "schema/store/account_book.h"
#include "schema/store/backfill_book.h"
#include "schema/store/catalogue.h"
#include "schema/store/change_log.h"
#include "schema/store/delivery_queue.h"
#include "schema/store/donation_book.h"
#include "schema/store/gift_code_book.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/life_book.h"
#include "schema/store/organization_book.h"
#include "schema/store/request_book.h"
#include "schema/store/source_book.h"
#include "schema/store/sync_queue.h"

namespace giftsync::schema {

/// The store's version that this program writes.
inline constexpr int kStoreVersion = 3;

/// Makes or upgrades the store's tables; safe to run at every start and by two programs at once. Throws
/// BrokenWorld (not transient) when the store is newer than this program.
void migrate_store(const DatabaseAddress& address);
/// 0 when there are no tables yet.
int store_version(const DatabaseAddress& address);

class Store {
 public:
  explicit Store(const DatabaseAddress& address);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Facts about the store itself, such as the fingerprint of the server secret.
  std::optional<std::string> fact(const std::string& name);
  /// Keeps the first value that was set; returns the one that stands.
  std::string settle_fact(const std::string& name, const std::string& value);
  /// Replaces the value that stood.
  void set_fact(const std::string& name, const std::string& value);
  /// True when no gift request was ever made here; gifts that were sent elsewhere do not count.
  bool is_unused();
  /// Throws BrokenWorld when the database does not answer or cannot be written.
  void check_writable();

 private:
  std::shared_ptr<sql::Database> database_;

 public:
  AccountBook accounts;
  OrganizationBook organizations;
  Catalogue catalogue;
  GiftLedger gifts;
  ChangeLog changes;
  SyncQueue sync;
  DeliveryQueue deliveries;
  SourceBook sources;
  BackfillBook backfill;
  RequestBook requests;
  DonationBook donations;
  GiftCodeBook codes;
  LifeBook life;
};

/// The same through a connection of its own, for an address that no store is open at yet.
void check_store_writable(const DatabaseAddress& address);

}  // namespace giftsync::schema
