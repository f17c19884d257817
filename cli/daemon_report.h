// cli: which daemons run on the store, and whether they answer (OPS-26).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "schema/store/daemon_instances.h"

namespace giftsync::cli {

// The readiness probe of a daemon on this host.

enum class DaemonState : std::uint8_t {
  ready,
  not_ready,        ///< it answers, but its store does not respond
  another_program,  ///< something else answers at its address
  unreachable,
  seen,    ///< on another host, where it cannot be asked: it has written its heartbeat
  unseen,  ///< on another host, without a heartbeat for a minute
  unknown
};

struct DaemonProbe {
  DaemonState state = DaemonState::unknown;
  std::string address;           ///< the probed host and port; empty if `listen` has port 0
  std::string fault;             ///< why not ready, unreachable or unknown; one line
  std::string instance_id = {};  ///< that the answer tells; empty: none
  std::string clock_doubt = {};  ///< why its timers wait, as it says; empty: they do not
};
using ProbeDaemon = std::function<DaemonProbe(const std::string& listen)>;

/// Requests /-/ready at `listen`, on the loopback address if that is all addresses, with TLS if the daemon
/// speaks it. Takes four seconds at most. An answer without an instance id is that of another program.
DaemonProbe probe_daemon(const std::string& listen);

// The daemon's unit, as systemd sees it: also why a daemon that does not run has ended.

struct UnitState {
  std::string state;                  ///< "active (running)", "failed (failed)"
  std::optional<UtcMillis> since;     ///< of this state
  std::string status = {};            ///< as the daemon says: "Listening on 127.0.0.1:8480 with FILE"
  std::string listen = {};            ///< in it; empty: it says none
  std::string settings_file = {};     ///< in it
  std::optional<int> exit_code = {};  ///< of the last process, if it ended by itself with a fault
};

/// What "systemctl show" prints of a unit; nothing for one that is not installed. Pure.
std::optional<UnitState> parse_unit(const std::string& shown);

/// Asks systemd for giftsyncd.service; nothing without systemd or the unit. Takes three seconds at most.
std::optional<UnitState> find_unit();

struct DaemonReport {
  std::optional<store::SeenDaemonInstance> row;  ///< nothing: the store knows no daemon
  DaemonProbe probe;

  bool is_alive() const {
    return probe.state == DaemonState::ready || probe.state == DaemonState::not_ready ||
           probe.state == DaemonState::seen;
  }
};

/// Why the last reload was refused; empty: it was not.
std::vector<std::string> reload_fault_lines(const store::DaemonInstance& daemon);

/// Where giftsyncctl runs.
struct Place {
  std::string host;  ///< host_identity()
  std::string settings_file;
  std::string listen;  ///< of the settings file
};
Place place_of(const config::Settings& settings);

/// Never empty. First the daemon of the settings file; without one a daemon that runs, if there is one; else
/// what answers at the file's address. Daemons of this host are asked, others run if they have a recent
/// heartbeat.
std::vector<DaemonReport> daemon_reports(const std::vector<store::SeenDaemonInstance>& rows,
                                         const Place& place, const ProbeDaemon& probe);

/// The daemon of the settings file, if it answers.
std::optional<store::SeenDaemonInstance> find_own_daemon(const std::vector<store::SeenDaemonInstance>& rows,
                                                         const Place& place, const ProbeDaemon& probe);

}  // namespace giftsync::cli
