// daemon/cli: whether the daemon of these settings runs on this host, by asking it.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/settings/settings.h"

namespace giftsync::daemon {

enum class DaemonState : std::uint8_t { ready, not_ready, silent, unknown };

struct DaemonLook {
  DaemonState state = DaemonState::unknown;
  std::string address;  ///< host and port that were asked; empty: server.listen leaves the port to chance
  std::string fault;    ///< why not ready, silent or unknown; one line
};

/// Asks /-/ready at server.listen, on the loopback address if that listens on all. Two seconds at most.
DaemonLook look_at_daemon(const ServerSettings& server);

}  // namespace giftsync::daemon
