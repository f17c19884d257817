// cli: which daemons run on the store, and whether they answer (OPS-26).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/daemon_probe.h"
#include "daemon/config/settings.h"
#include "schema/store/daemon_instances.h"

namespace giftsync::cli {

struct DaemonReport {
  std::optional<schema::store::SeenDaemonInstance> row;  ///< nothing: the store knows no daemon
  DaemonProbe probe;

  bool is_alive() const {
    return probe.state == DaemonState::ready || probe.state == DaemonState::not_ready ||
           probe.state == DaemonState::seen;
  }
};

/// Why the last reload was refused; empty: it was not.
std::vector<std::string> reload_fault_lines(const schema::store::DaemonInstance& daemon);

/// Where giftsyncctl runs.
struct Place {
  std::string host;  ///< platform::host_identity()
  std::string settings_file;
  std::string listen;  ///< of the settings file
};
Place place_of(const daemon::config::Settings& settings);

/// Never empty. First the daemon of the settings file; without one a daemon that runs, if there is one; else
/// what answers at the file's address. Daemons of this host are asked, others run if they have a recent
/// heartbeat.
std::vector<DaemonReport> daemon_reports(const std::vector<schema::store::SeenDaemonInstance>& rows,
                                         const Place& place, const ProbeDaemon& probe);

/// The daemon of the settings file, if it answers.
std::optional<schema::store::SeenDaemonInstance> find_own_daemon(
    const std::vector<schema::store::SeenDaemonInstance>& rows, const Place& place, const ProbeDaemon& probe);

}  // namespace giftsync::cli
