// daemon: giftsyncd as a process: arguments, signals, systemd. SIGTERM and SIGINT stop it cleanly, a second
// signal stops it at once. SIGHUP reloads the settings; faulty settings leave the old ones in force.
#pragma once

namespace giftsync::daemon {

/// Runs the daemon until it is stopped. Returns its exit code (sysexits: 0, 64 usage, 69 store or CRM
/// unreachable, 71 address in use, 78 faulty settings, a CRM that does not match them, or newer tables).
int run_daemon_process(int argc, char** argv);

}  // namespace giftsync::daemon
