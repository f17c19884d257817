// schema/store: the daemons that run on this store, as they describe themselves (OPS-25). Any thread. A
// database error throws DependencyError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/sql/dsn.h"

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

struct DaemonInstance {
  std::string id;    ///< random; another one after each start
  std::string host;  ///< platform::host_identity()
  std::int64_t pid = 0;
  std::string version;
  std::string listen;  ///< "127.0.0.1:8480", with the port in use
  std::string settings_file;
  std::string settings;  ///< in force, without secrets; text that the caller reads
  platform::UtcMillis started_at;
  platform::UtcMillis loaded_at;  ///< when the settings in force were loaded
  std::optional<platform::UtcMillis> last_reload_at;
  std::string reload_faults;  ///< of the last reload, one per line; empty: it was not refused
};

struct SeenDaemonInstance {
  DaemonInstance instance;
  platform::UtcMillis last_seen_at;  ///< by the database's clock
  std::int64_t unseen_millis = 0;    ///< since then
};

class DaemonInstances {
 public:
  /// Shares the connections of a Store of the same dsn.
  explicit DaemonInstances(const sql::Dsn& dsn);

  /// Adds or replaces the row, seen now. Rows of other daemons at the same address of the same host go: only
  /// one can listen there, so they have ended.
  void save(const DaemonInstance& instance);
  /// Seen now; false when there is no such row. Rows that no one has seen for a day go.
  bool touch(const std::string& id);
  void remove(const std::string& id);
  /// The last started first.
  std::vector<SeenDaemonInstance> list();

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
