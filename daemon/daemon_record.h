// daemon: the row in the store by which giftsyncctl knows this daemon: what runs here, with which settings,
// and how the last reload ended (OPS-25). Any thread, except where a function says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "schema/store/daemon_instances.h"

namespace giftsync::daemon {

class DaemonRecord {
 public:
  /// `steady_millis`: a clock that never jumps.
  explicit DaemonRecord(std::function<std::int64_t()> steady_millis);

  /// Random; another one after each start of the process.
  const std::string& id() const { return id_; }

  /// Main thread: writes the row before the daemon serves at `listen`. Throws platform::DependencyError.
  void begin(const config::Settings& settings, const std::string& listen);
  /// Main thread: these settings are in force now. Without effect on a store that fails; keep() writes later.
  void reloaded(const config::Settings& settings, const std::string& listen);
  /// Main thread: the settings in force stay so, because of these faults. As reloaded().
  void reload_refused(const std::vector<std::string>& faults);
  /// A worker's step: writes what is not written yet, and every ten seconds that the daemon is there. Throws
  /// platform::DependencyError.
  void keep();
  /// Main thread: deletes the row; keep() has no effect any more. Without effect on a store that fails.
  void end();

 private:
  void load(const config::Settings& settings, const std::string& listen);
  void write();
  void try_to_write();

  const std::string id_;
  const std::function<std::int64_t()> steady_millis_;
  std::mutex mutex_;                                           ///< held while the row is written
  std::unique_ptr<schema::store::DaemonInstances> instances_;  // guarded by mutex_; null before begin()
  schema::sql::Dsn dsn_;                                       // guarded by mutex_
  schema::store::DaemonInstance instance_;                     // guarded by mutex_
  bool is_written_ = false;                                    // guarded by mutex_
  bool has_ended_ = false;                                     // guarded by mutex_
  std::int64_t last_written_millis_ = 0;                       // guarded by mutex_
};

}  // namespace giftsync::daemon
