#include "schema/store/store.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "embedded/giftsync_schema_store.h"
#include "platform/text.h"
#include "schema/sql/queries.h"
#include "schema/store/background_work.h"
#include "schema/store/statements/metadata.h"

namespace giftsync::store {
namespace {

/// store_001.sql and on, in the order of their names.
constexpr auto kScripts = [] {
  std::array<std::string_view, std::size(embedded::giftsync_schema_store_files)> scripts;
  for (std::size_t i = 0; i < scripts.size(); ++i)
    scripts[i] = embedded::giftsync_schema_store_files[i].second;
  return scripts;
}();

}  // namespace

const int kStoreVersion = static_cast<int>(kScripts.size());

MigrationScripts store_scripts() {
  return kScripts;
}

int store_version(const sql::Dsn& dsn) {
  return read_store_version(dsn, kScripts);
}

void migrate_store(const sql::Dsn& dsn, const SayMigration& say) {
  run_migration(dsn, kScripts, say);
}

Store::Store(const sql::Dsn& dsn)
    : database_(sql::Database::shared(dsn)),
      mail_turns_(database_),
      accounts(database_),
      organizations(database_),
      credentials(database_),
      catalogue(database_),
      sending_usage(database_),
      gifts(database_, mail_turns_),
      held(database_),
      changes(database_),
      sync(database_),
      deliveries(database_, changes, mail_turns_),
      mail_pauses(database_),
      sources(database_, changes),
      refused_messages(database_),
      external_ids(database_, gifts),
      backfill(database_),
      request_records(database_),
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
      sender_notices(database_),
      sign_in_mails(database_),
      do_not_send(database_),
      person_traces(database_),
      test_gifts(database_),
      alerts(database_),
      webhooks(database_),
      feed(database_),
      rollups(database_) {}

Store::~Store() = default;

std::optional<std::string> Store::metadata(const std::string& name) {
  return database_->read([&](soci::session& session) { return read_metadata(session, name); });
}

std::string Store::set_metadata_if_absent(const std::string& name, const std::string& value) {
  database_->write([&](soci::session& session) {
    session
        << "INSERT INTO store_metadata (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING",
        soci::use(name), soci::use(value);
  });
  return metadata(name).value_or(value);
}

void Store::set_metadata(const std::string& name, const std::string& value) {
  database_->write([&](soci::session& session) { write_metadata(session, name, value); });
}

bool Store::is_unused() {
  return database_->read(
      [](soci::session& session) { return !sql::has_row(session, "gift_request WHERE mode <> 'external'"); });
}

namespace {

void probe_write(sql::Database& database) {
  database.write([](soci::session& session) { write_metadata(session, "probe", "1"); });
}

}  // namespace

void Store::check_writable() {
  probe_write(*database_);
}

void Store::keep_feed(bool keeps) {
  database_->keep_feed(keeps);
}

void Store::refuse_use(const std::string& reason) {
  database_->refuse_use(reason);
}

void check_store_writable(const sql::Dsn& dsn) {
  sql::Database database(dsn);
  probe_write(database);
}

namespace {

using soci::use;

bool has_table(soci::session& session, const std::string& table) {
  return sql::has_row(session,
                      sql::Dialect(session) == sql::Dialect::sqlite
                          ? "sqlite_master WHERE type = 'table' AND name = :name"
                          : "pg_class WHERE oid = to_regclass(:name)",
                      use(table));
}

/// The fingerprint of the statements only: an edited comment does not invalidate a store.
std::string fingerprint(sql::Dialect dialect, MigrationScripts scripts) {
  std::string statements;
  for (const std::string_view script : scripts) {
    for (const auto part : {sql::ScriptPart::start, sql::ScriptPart::background})
      for (const std::string& statement : sql::statements_of(dialect, script, part))
        statements += statement + ";;\n";
  }
  return sha256_hex(statements);
}

int checked_version(soci::session& session, MigrationScripts scripts) {
  const auto reject = [] {
    throw IncompatibleStoreError(
        "the store was made by a development version; start with an empty store (nothing was changed)");
  };
  if (has_table(session, "store_fact")) reject();  // the table's name before it became store_metadata
  if (!has_table(session, "store_metadata")) return 0;
  const std::string recorded = read_metadata(session, "version").value_or("");
  const int version = recorded.empty() ? 0 : std::stoi(recorded);
  if (version > static_cast<int>(scripts.size())) return version;
  const MigrationScripts applied = scripts.first(static_cast<std::size_t>(version));
  if (read_metadata(session, "schema_fingerprint").value_or("") != fingerprint(session, applied)) reject();
  return version;
}

/// A script with this line uses what the background parts of former scripts make.
constexpr std::string_view kAfterBackground = "--@after_background\n";

/// One process migrates at a time: on SQLite BEGIN IMMEDIATE ensures it, on PostgreSQL this lock.
void lock_migration(soci::session& session) {
  constexpr std::string_view kLock = "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(7208291)) locked";
  if (sql::Dialect(session) != sql::Dialect::postgresql) return;
  session << "SET LOCAL lock_timeout TO 0";  // another process may take long
  sql::select_value<std::int64_t>(session, kLock);
}

}  // namespace

int read_store_version(const sql::Dsn& dsn, MigrationScripts scripts) {
  sql::Database database(dsn);
  return database.read([&](soci::session& session) { return checked_version(session, scripts); });
}

namespace {

/// Empty tables get their indexes at once, and have no rows to fill.
void make_background_parts_of_new_store(soci::session& session, MigrationScripts scripts) {
  for (const std::string_view script : scripts)
    for (const std::string& statement : sql::statements_of(session, script, sql::ScriptPart::background))
      if (statement.starts_with("CREATE ")) session << statement;
  write_metadata(session, kBackgroundFact, std::to_string(scripts.size()) + " 0 0");
}

struct AddedColumn {
  std::string table;
  std::string column;
};

/// Of "ALTER TABLE table ADD COLUMN column ..."; nothing of another statement.
std::optional<AddedColumn> added_column(const std::string& statement) {
  std::array<std::string, 6> words;
  std::istringstream text(statement);
  for (std::string& word : words) text >> word;
  if (words[0] != "ALTER" || words[1] != "TABLE" || words[3] != "ADD" || words[4] != "COLUMN")
    return std::nullopt;
  return AddedColumn{words[2], words[5]};
}

/// On PostgreSQL.
bool has_column(soci::session& session, const AddedColumn& added) {
  return sql::has_row(
      session,
      "pg_attribute WHERE attrelid = to_regclass(:name) AND attname = :column_name AND NOT attisdropped",
      use(added.table), use(added.column));
}

/// A wait that ends lets those pass that came meanwhile.
void add_column(sql::Database& database, const AddedColumn& added, const std::string& statement) {
  constexpr int kMaxAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    try {
      return database.write([&](soci::session& session) {
        lock_migration(session);
        if (!has_table(session, added.table) || has_column(session, added)) return;
        session << "SET LOCAL lock_timeout TO 1500";
        session << statement;
      });
    } catch (const DependencyError& fault) {
      if (!fault.transient() || attempt == kMaxAttempts) throw;
    }
  }
}

/// PostgreSQL alone: adds each column in a transaction of its own, which waits for one table and holds no
/// other. One transaction for all would be in a deadlock with the writers of a daemon beside it, which lock
/// the same tables in another order. A daemon of the former version does not notice the columns, and what a
/// kill leaves is gone on with.
void add_missing_columns(sql::Database& database, MigrationScripts scripts) {
  for (const std::string_view script : scripts) {
    for (const std::string& statement : sql::statements_of(database.dialect(), script)) {
      const std::optional<AddedColumn> added = added_column(statement);
      if (added) add_column(database, *added, statement);
    }
  }
}

void run_missing_statements(soci::session& session, std::string_view script) {
  const bool is_postgresql = sql::Dialect(session) == sql::Dialect::postgresql;
  for (const std::string& statement : sql::statements_of(session, script)) {
    const std::optional<AddedColumn> added = added_column(statement);
    if (!is_postgresql || !added || !has_column(session, *added)) session << statement;
  }
}

void run_missing_scripts(const sql::Dsn& dsn, MigrationScripts scripts) {
  const int newest = static_cast<int>(scripts.size());
  sql::Database database(dsn);
  const int found = database.read([&](soci::session& session) { return checked_version(session, scripts); });
  if (found == newest) return;
  if (found > 0 && found < newest && database.dialect() == sql::Dialect::postgresql)
    add_missing_columns(database, scripts.subspan(static_cast<std::size_t>(found)));
  database.write([&](soci::session& session) {
    lock_migration(session);
    const int version = checked_version(session, scripts);
    if (version > newest) {
      throw IncompatibleStoreError(
          "the store has version " + std::to_string(version) + ", this program knows versions up to " +
          std::to_string(newest) +
          "; install the newer giftsync again, or restore the backup from before it: \"Go back\" in "
          "backup-and-upgrade.md");
    }
    if (version == newest) return;  // another process was first
    for (const std::string_view script : scripts.subspan(static_cast<std::size_t>(version)))
      run_missing_statements(session, script);
    if (version == 0) make_background_parts_of_new_store(session, scripts);
    write_metadata(session, "version", std::to_string(newest));
    write_metadata(session, "schema_fingerprint", fingerprint(session, scripts));
  });
}

/// A daemon that does it meanwhile has to end first, or to finish.
void finish_background_work(const sql::Dsn& dsn, MigrationScripts scripts, const SayMigration& say) {
  BackgroundWork work = background_work(dsn, scripts);
  if (work.remaining > 0)
    say("the store's next version needs what is left of a former upgrade first, which may take minutes: " +
        pluralize(static_cast<std::int64_t>(work.remaining), "statement") + " from " + work.present);
  while (work.remaining > 0) {
    const BackgroundStep step = do_background_step(
        dsn, [] { return true; }, scripts);
    if (step == BackgroundStep::none) return;
    if (step == BackgroundStep::busy)
      throw DependencyError(true,
                            "another giftsyncd still does the work of a former upgrade that this version "
                            "needs: " +
                                work.present + "; wait until its \"giftsyncctl status\" shows none");
  }
}

}  // namespace

void run_migration(const sql::Dsn& dsn, MigrationScripts scripts, const SayMigration& say) {
  const auto waits = [](std::string_view script) {
    return script.find(kAfterBackground) != std::string_view::npos;
  };
  const int found = std::any_of(scripts.begin(), scripts.end(), waits) ? read_store_version(dsn, scripts) : 0;
  for (std::size_t i = static_cast<std::size_t>(found); found > 0 && i < scripts.size(); ++i) {
    if (!waits(scripts[i])) continue;
    run_missing_scripts(dsn, scripts.first(i));
    finish_background_work(dsn, scripts.first(i), say);
  }
  run_missing_scripts(dsn, scripts);
}

}  // namespace giftsync::store
