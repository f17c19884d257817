#include "schema/store/daemon_instances.h"

#include "schema/sql/queries.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

constexpr std::int64_t kKeptUnseenMillis = platform::kDayMillis;

}  // namespace

DaemonInstances::DaemonInstances(const sql::Dsn& dsn) : database_(sql::Database::shared(dsn)) {}

void DaemonInstances::save(const DaemonInstance& instance) {
  const std::string now(sql::database_now(database_->dialect()));
  database_->write([&](soci::session& session) {
    session << "DELETE FROM daemon_instance WHERE id = :id OR (host = :host AND listen = :listen)",
        use(instance.id), use(instance.host), use(instance.listen);
    session
        << "INSERT INTO daemon_instance (id, host, pid, version, listen, settings_file, settings, "
           "started_at, loaded_at, last_reload_at, reload_faults, last_seen_at) VALUES (:id, :host, :pid, "
           ":version, :listen, :settings_file, :settings, :started_at, :loaded_at, :last_reload_at, "
           ":reload_faults, " +
               now + ")",
        use(instance.id), use(instance.host), use(instance.pid), use(instance.version), use(instance.listen),
        use(instance.settings_file), use(instance.settings), use(instance.started_at),
        use(instance.loaded_at), use(instance.last_reload_at), use(instance.reload_faults);
  });
}

bool DaemonInstances::touch(const std::string& id) {
  const std::string now(sql::database_now(database_->dialect()));
  return database_->write([&](soci::session& session) {
    session << "DELETE FROM daemon_instance WHERE last_seen_at < " + now + " - :kept AND id <> :id",
        use(kKeptUnseenMillis), use(id);
    return sql::change_rows(session, "UPDATE daemon_instance SET last_seen_at = " + now + " WHERE id = :id",
                            use(id)) > 0;
  });
}

void DaemonInstances::remove(const std::string& id) {
  database_->write(
      [&](soci::session& session) { session << "DELETE FROM daemon_instance WHERE id = :id", use(id); });
}

std::vector<SeenDaemonInstance> DaemonInstances::list() {
  const std::string now(sql::database_now(database_->dialect()));
  return database_->read([&](soci::session& session) {
    SeenDaemonInstance row;
    DaemonInstance& one = row.instance;
    return sql::select_rows(
        row, session,
        "SELECT id, host, pid, version, listen, settings_file, settings, started_at, loaded_at, "
        "last_reload_at, reload_faults, last_seen_at, " +
            now + " - last_seen_at FROM daemon_instance ORDER BY started_at DESC, id",
        into(one.id), into(one.host), into(one.pid), into(one.version), into(one.listen),
        into(one.settings_file), into(one.settings), into(one.started_at), into(one.loaded_at),
        into(one.last_reload_at), into(one.reload_faults), into(row.last_seen_at), into(row.unseen_millis));
  });
}

}  // namespace giftsync::schema::store
