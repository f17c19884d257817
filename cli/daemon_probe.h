// cli: the readiness probe of the daemon on this host.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/config/settings.h"

namespace giftsync::cli {

enum class DaemonState : std::uint8_t { ready, not_ready, unreachable, unknown };

struct DaemonProbe {
  DaemonState state = DaemonState::unknown;
  std::string address;  ///< the probed host and port; empty if server.listen has port 0
  std::string fault;    ///< why not ready, unreachable or unknown; one line
};

/// Requests /-/ready at server.listen, on the loopback address if that listens on all addresses. Takes two
/// seconds at most.
DaemonProbe probe_daemon(const daemon::config::ServerSettings& server);

}  // namespace giftsync::cli
