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
    : database_(sql::Database::shared(dsn)), name_(std::move(name)), owner_(std::move(owner)) {}

WriterLease::Holder WriterLease::take(std::int64_t millis) {
  const std::string clock = clock_of(*database_);
  return database_->write([&](soci::session& session) {
    session << "INSERT INTO writer_lease (name, lease_owner, lease_until) VALUES (:name, :owner, " + clock +
                   " + :millis) ON CONFLICT (name) DO UPDATE SET lease_owner = excluded.lease_owner, "
                   "lease_until = excluded.lease_until WHERE writer_lease.lease_owner = excluded.lease_owner "
                   "OR writer_lease.lease_until < " +
                   clock + " OR writer_lease.lease_until > " + clock + " + 2 * :longest",
        use(name_), use(owner_), use(millis), use(millis);
    Holder holder;
    session << "SELECT lease_owner, lease_until - " + clock + " FROM writer_lease WHERE name = :name",
        into(holder.owner), into(holder.remaining_millis), use(name_);
    holder.is_this = holder.owner == owner_;
    holder.remaining_millis = std::max<std::int64_t>(holder.remaining_millis, 0);
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
  database_->write([&](soci::session& session) {
    session << "UPDATE writer_lease SET lease_owner = '', lease_until = 0 WHERE name = :name AND lease_owner "
               "= :owner",
        use(name_), use(owner_);
  });
}

}  // namespace giftsync::schema::store
