#include "schema/store/daemon_instances.h"

#include <algorithm>
#include <utility>

#include "schema/sql/queries.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr std::int64_t kKeptUnseenMillis = kDayMillis;

}  // namespace

DaemonInstances::DaemonInstances(const sql::Dsn& dsn) : database_(sql::Database::shared(dsn)) {}

void DaemonInstances::save(const DaemonInstance& instance) {
  const std::string now(sql::database_now(database_->dialect()));
  database_->write([&](soci::session& session) {
    session << "DELETE FROM daemon_instance WHERE id = :id OR (host = :host AND listen = :listen)",
        use(instance.id), use(instance.host), use(instance.listen);
    session
        << "INSERT INTO daemon_instance (id, host, pid, version, listen, settings_file, settings, "
           "started_at, loaded_at, last_reload_at, reload_faults, counts_gifts, last_seen_at) VALUES (:id, "
           ":host, :pid, :version, :listen, :settings_file, :settings, :started_at, :loaded_at, "
           ":last_reload_at, :reload_faults, 1, " +
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
    DaemonInstance& daemon_instance = row.instance;
    return sql::select_rows(
        row, session,
        "SELECT id, host, pid, version, listen, settings_file, settings, started_at, loaded_at, "
        "last_reload_at, reload_faults, last_seen_at, " +
            now + " - last_seen_at FROM daemon_instance ORDER BY started_at DESC, id",
        into(daemon_instance.id), into(daemon_instance.host), into(daemon_instance.pid),
        into(daemon_instance.version), into(daemon_instance.listen), into(daemon_instance.settings_file),
        into(daemon_instance.settings), into(daemon_instance.started_at), into(daemon_instance.loaded_at),
        into(daemon_instance.last_reload_at), into(daemon_instance.reload_faults), into(row.last_seen_at),
        into(row.unseen_millis));
  });
}

namespace {

std::string clock_of(const sql::Database& database) {
  return std::string(sql::database_now(database.dialect()));
}

}  // namespace

WriterLease::WriterLease(const sql::Dsn& dsn, std::string name, std::string owner)
    : database_(sql::Database::shared(dsn)),
      name_(std::move(name)),
      next_name_(name_ + ", next"),
      owner_(std::move(owner)) {}

/// Takes the row with that name when it is free, has ended or is this owner's.
void WriterLease::claim(soci::session& session, const std::string& name, std::int64_t millis) const {
  const std::string clock = clock_of(*database_);
  session << "INSERT INTO writer_lease (name, lease_owner, lease_until) VALUES (:name, :owner, " + clock +
                 " + :millis) ON CONFLICT (name) DO UPDATE SET lease_owner = excluded.lease_owner, "
                 "lease_until = excluded.lease_until WHERE writer_lease.lease_owner = excluded.lease_owner "
                 "OR writer_lease.lease_until < " +
                 clock + " OR writer_lease.lease_until > " + clock + " + 2 * :longest",
      use(name), use(owner_), use(millis), use(millis);
}

WriterLease::Holder WriterLease::read(soci::session& session, const std::string& name) const {
  Holder holder;
  session << "SELECT lease_owner, lease_until - " + clock_of(*database_) +
                 " FROM writer_lease WHERE name = :name",
      into(holder.owner), into(holder.remaining_millis), use(name);
  holder.is_this = holder.owner == owner_;
  holder.remaining_millis = std::max<std::int64_t>(holder.remaining_millis, 0);
  return holder;
}

void WriterLease::release(soci::session& session, const std::string& name) const {
  session << "UPDATE writer_lease SET lease_owner = '', lease_until = 0 WHERE name = :name AND lease_owner "
             "= :owner",
      use(name), use(owner_);
}

WriterLease::Holder WriterLease::take(std::int64_t millis) {
  return database_->write([&](soci::session& session) {
    const Holder next = read(session, next_name_);
    // One that waits for longer was noted while the database's clock was ahead.
    const bool is_other_next =
        !next.is_this && next.remaining_millis > 0 && next.remaining_millis <= 2 * kWriterWaitMillis;
    if (is_other_next) {
      Holder holder = read(session, name_);
      if (!holder.is_this) return holder.remaining_millis > 0 ? holder : next;
    }
    claim(session, name_, millis);
    Holder holder = read(session, name_);
    if (!holder.is_this)
      claim(session, next_name_, kWriterWaitMillis);
    else if (next.is_this)
      release(session, next_name_);
    return holder;
  });
}

bool WriterLease::renew(std::int64_t millis) {
  return database_->write([&](soci::session& session) {
    soci::statement update =
        (session.prepare << "UPDATE writer_lease SET lease_until = " + clock_of(*database_) +
                                " + :millis WHERE name = :name AND lease_owner = :owner",
         use(millis), use(name_), use(owner_));
    update.execute(true);
    return update.get_affected_rows() == 1;
  });
}

void WriterLease::release() {
  database_->write([&](soci::session& session) { release(session, name_); });
}

}  // namespace giftsync::store
