#include "schema/sql/connection_check.h"

#include <mutex>
#include <utility>
#include <vector>

namespace giftsync::schema::sql {
namespace {

/// All of this program, in no order.
struct ConnectionChecks {
  std::mutex mutex;
  std::vector<const ConnectionCheck*> all;  // guarded by mutex
};
ConnectionChecks& connection_checks() {
  static ConnectionChecks one;
  return one;
}

bool is_same_database(const Dsn& one, const Dsn& other) {
  return one.dialect == other.dialect && one.connection == other.connection &&
         one.password == other.password && one.is_external_crm == other.is_external_crm;
}

}  // namespace

ConnectionCheck::ConnectionCheck(Dsn dsn, Check check) : dsn_(std::move(dsn)), check_(std::move(check)) {
  const std::lock_guard lock(connection_checks().mutex);
  connection_checks().all.push_back(this);
}

ConnectionCheck::~ConnectionCheck() {
  const std::lock_guard lock(connection_checks().mutex);
  std::erase(connection_checks().all, this);
}

/// The checks run without the mutex: they wait for the server.
void check_new_connection(const Dsn& dsn, soci::session& session) {
  std::vector<ConnectionCheck::Check> checks;
  {
    const std::lock_guard lock(connection_checks().mutex);
    for (const ConnectionCheck* const one : connection_checks().all) {
      if (is_same_database(one->dsn_, dsn)) checks.push_back(one->check_);
    }
  }
  for (const ConnectionCheck::Check& check : checks) check(session);
}

}  // namespace giftsync::schema::sql
