// cli: the readiness probe of a daemon on this host.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace giftsync::cli {

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
  std::string address;      ///< the probed host and port; empty if `listen` has port 0
  std::string fault;        ///< why not ready, unreachable or unknown; one line
  std::string instance_id;  ///< that the answer tells; empty: none
};
using ProbeDaemon = std::function<DaemonProbe(const std::string& listen)>;

/// Requests /-/ready at `listen`, on the loopback address if that is all addresses. Takes two seconds at
/// most. An answer without an instance id is that of another program.
DaemonProbe probe_daemon(const std::string& listen);

}  // namespace giftsync::cli
