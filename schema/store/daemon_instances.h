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

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct DaemonInstance {
  std::string id;    ///< random; another one after each start
  std::string host;  ///< host_identity()
  std::int64_t pid = 0;
  std::string version;
  std::string listen;  ///< "127.0.0.1:8480", with the port in use
  std::string settings_file;
  std::string settings;  ///< in force, without secrets; text that the caller reads
  UtcMillis started_at;
  UtcMillis loaded_at;  ///< when the settings in force were loaded
  std::optional<UtcMillis> last_reload_at;
  std::string reload_faults;  ///< of the last reload, one per line; empty: it was not refused
};

struct SeenDaemonInstance {
  DaemonInstance instance;
  UtcMillis last_seen_at;          ///< by the database's clock
  std::int64_t unseen_millis = 0;  ///< since then
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

// A lease that makes its owner the only writer to something outside of the store, among all
// processes that share the store. Its times are those of the database's clock (ARCH-17). Any thread.

/// A writer that wants the lease tries more often than that.
inline constexpr std::int64_t kWriterWaitMillis = 1000;

class WriterLease {
 public:
  /// Opens nothing. The store exists when the functions are called. `name`: what is written to. `owner` is
  /// another text for each object that may write; it is shown to admins.
  WriterLease(const sql::Dsn& dsn, std::string name, std::string owner);

  struct Holder {
    bool is_this = false;               ///< of the lease's owner
    std::string owner = {};             ///< of the lease
    std::int64_t remaining_millis = 0;  ///< until it ends by itself
  };
  /// Takes the lease for `millis` when it is free, has ended or is this owner's; tells who has it then. A
  /// lease that runs for longer than `millis` was taken while the database's clock was ahead: it is free. All
  /// owners of a lease use the same `millis`. Who does not get it comes next: for kWriterWaitMillis from its
  /// last attempt a lease that was released is given to no other. Throws DependencyError, like the
  /// following.
  Holder take(std::int64_t millis);
  /// Prolongs it. False when another owner took it since this one did, also when that one has released it:
  /// what this owner decided under the lease may not hold any more.
  bool renew(std::int64_t millis);
  /// Releases this owner's lease only; another one may take it at once.
  void release();

 private:
  void claim(soci::session& session, const std::string& name, std::int64_t millis) const;
  Holder read(soci::session& session, const std::string& name) const;
  void release(soci::session& session, const std::string& name) const;

  const std::shared_ptr<sql::Database> database_;
  const std::string name_;
  const std::string next_name_;  ///< of the row of who comes next
  const std::string owner_;
};

}  // namespace giftsync::store
