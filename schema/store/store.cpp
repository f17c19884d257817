#include "schema/store/store.h"

#include <iterator>
#include <string_view>

#include "embedded/giftsync_schema_store.h"
#include "schema/sql/queries.h"
#include "schema/store/store_migration.h"

namespace giftsync::schema::store {
namespace {

constexpr std::string_view kScripts[] = {embedded::schema_sql_store_001_sql,
                                         embedded::schema_sql_store_002_sql,
                                         embedded::schema_sql_store_003_sql};
static_assert(std::size(kScripts) == kStoreVersion);

}  // namespace

int store_version(const sql::Dsn& dsn) {
  return read_store_version(dsn, kScripts);
}

void migrate_store(const sql::Dsn& dsn) {
  run_migration(dsn, kScripts);
}

Store::Store(const sql::Dsn& dsn)
    : database_(sql::Database::shared(dsn)),
      mail_turns_(database_),
      accounts(database_),
      organizations(database_),
      catalogue(database_),
      gifts(database_, mail_turns_),
      changes(database_),
      sync(database_),
      deliveries(database_, changes, mail_turns_),
      sources(database_, changes),
      refused_messages(database_),
      external_ids(database_, gifts),
      backfill(database_),
      request_records(database_),
      message_tokens(database_),
      crm_change_events(database_),
      donations(database_),
      codes(database_),
      page_views(database_),
      lifecycle(database_, changes),
      urgent_writes(database_, gifts, changes, sources),
      audit(database_),
      console_users(database_),
      console_sessions(database_),
      sign_in_attempts(database_),
      user_identities(database_),
      sign_in_connections(database_),
      console_gifts(database_),
      approver_notices(database_),
      sender_notices(database_) {}

Store::~Store() = default;

std::optional<std::string> Store::fact(const std::string& name) {
  return database_->read([&](soci::session& session) { return read_metadata(session, name); });
}

std::string Store::set_metadata_if_absent(const std::string& name, const std::string& value) {
  database_->write([&](soci::session& session) {
    session
        << "INSERT INTO store_metadata (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING",
        soci::use(name), soci::use(value);
  });
  return fact(name).value_or(value);
}

void Store::set_metadata(const std::string& name, const std::string& value) {
  database_->write([&](soci::session& session) { write_metadata(session, name, value); });
}

bool Store::is_unused() {
  return database_->read([](soci::session& session) {
    return sql::select_value<std::int64_t>(session,
                                           "SELECT count(*) FROM (SELECT 1 FROM gift_request WHERE mode <> "
                                           "'external' LIMIT 1) first_request") == 0;
  });
}

namespace {

void probe_write(sql::Database& database) {
  database.write([](soci::session& session) { write_metadata(session, "probe", "1"); });
}

}  // namespace

void Store::check_writable() {
  probe_write(*database_);
}

void Store::refuse_use(const std::string& reason) {
  database_->refuse_use(reason);
}

void check_store_writable(const sql::Dsn& dsn) {
  sql::Database database(dsn);
  probe_write(database);
}

}  // namespace giftsync::schema::store
