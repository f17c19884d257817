#include "schema/store/writer_lease.h"

#include <algorithm>
#include <utility>

#include "schema/sql/queries.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

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

}  // namespace giftsync::schema::store
