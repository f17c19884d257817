#include "schema/store/store.h"

#include <iterator>
#include <span>

#include "embedded/giftsync_schema.h"
#include "schema/sql/database.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

bool has_table(soci::session& session, Dialect dialect, const std::string& table) {
  long long count = 0;
  if (dialect == Dialect::sqlite) {
    session << "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = :name", use(table),
        into(count);
  } else {
    session << "SELECT count(*) FROM pg_class WHERE oid = to_regclass(:name)", use(table), into(count);
  }
  return count > 0;
}

int read_version(soci::session& session, Dialect dialect) {
  if (!has_table(session, dialect, "store_fact")) return 0;
  std::string version = "0";
  session << "SELECT value FROM store_fact WHERE name = 'version'", into(version);
  return std::stoi(version);
}

/// Each brings a store of the version before it to its own; the first makes one where there is none.
constexpr std::string_view kSteps[] = {embedded::schema_sql_store_001_sql, embedded::schema_sql_store_002_sql,
                                       embedded::schema_sql_store_003_sql};
static_assert(std::size(kSteps) == kStoreVersion);

/// One daemon migrates at a time: on SQLite BEGIN IMMEDIATE sees to it, on PostgreSQL this lock does.
void lock_migration(soci::session& session, Dialect dialect) {
  constexpr std::string_view kLock = "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(7208291)) locked";
  if (dialect != Dialect::postgresql) return;
  long long ignored = 0;
  session << "SET LOCAL lock_timeout TO 0";  // however long the other one takes
  session << std::string(kLock), into(ignored);
}

}  // namespace

int store_version(const DatabaseAddress& address) {
  sql::Database database(address);
  return database.read([&](soci::session& session) { return read_version(session, address.dialect); });
}

void migrate_store(const DatabaseAddress& address) {
  sql::Database database(address);
  const int found =
      database.read([&](soci::session& session) { return read_version(session, address.dialect); });
  if (found == kStoreVersion) return;
  database.write([&](soci::session& session) {
    lock_migration(session, address.dialect);
    const int version = read_version(session, address.dialect);
    if (version > kStoreVersion) {
      throw BrokenWorld(
          false, "the store has version " + std::to_string(version) + ", this program knows versions up to " +
                     std::to_string(kStoreVersion) +
                     "; install the newer giftsync again, or restore the backup from before it");
    }
    if (version == kStoreVersion) return;  // another program was first
    for (const std::string_view step : std::span(kSteps).subspan(static_cast<std::size_t>(version)))
      sql::run_script(session, address.dialect, step);
    const std::string reached = std::to_string(kStoreVersion);
    session << "INSERT INTO store_fact (name, value) VALUES ('version', :version) ON CONFLICT (name) DO "
               "UPDATE SET value = excluded.value",
        use(reached);
  });
}

Store::Store(const DatabaseAddress& address)
    : database_(sql::Database::of(address)),
      accounts(database_),
      organizations(database_),
      catalogue(database_),
      gifts(database_),
      changes(database_),
      sync(database_),
      deliveries(database_, changes),
      sources(database_, changes),
      backfill(database_),
      requests(database_),
      donations(database_),
      codes(database_),
      life(database_) {}

Store::~Store() = default;

std::optional<std::string> Store::fact(const std::string& name) {
  return database_->read([&](soci::session& session) {
    std::optional<std::string> value;
    session << "SELECT max(value) FROM store_fact WHERE name = :name", use(name), into(value);
    return value;
  });
}

std::string Store::settle_fact(const std::string& name, const std::string& value) {
  database_->write([&](soci::session& session) {
    session << "INSERT INTO store_fact (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING",
        use(name), use(value);
  });
  return fact(name).value_or(value);
}

void Store::set_fact(const std::string& name, const std::string& value) {
  database_->write([&](soci::session& session) {
    session << "INSERT INTO store_fact (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET "
               "value = excluded.value",
        use(name), use(value);
  });
}

bool Store::is_unused() {
  return database_->read([](soci::session& session) {
    long long found = 0;
    session << "SELECT count(*) FROM (SELECT 1 FROM gift_request WHERE mode <> 'external' LIMIT 1) "
               "first_request",
        into(found);
    return found == 0;
  });
}

namespace {

void write_probe(sql::Database& database) {
  database.write([](soci::session& session) {
    session << "INSERT INTO store_fact (name, value) VALUES ('probe', '1') ON CONFLICT (name) DO UPDATE SET "
               "value = excluded.value";
  });
}

}  // namespace

void Store::check_writable() {
  write_probe(*database_);
}

void check_store_writable(const DatabaseAddress& address) {
  sql::Database database(address);
  write_probe(database);
}

}  // namespace giftsync::schema
