// daemon: giftsyncd as a process: arguments, signals, systemd. SIGTERM and SIGINT stop it cleanly, a second
// one at once; SIGHUP reads the settings again, and bad ones leave the old ones at work.
#pragma once

namespace giftsync::daemon {

/// The whole life of the daemon; returns its exit code (sysexits: 0, 64 usage, 69 store or CRM, 71 address in
/// use, 78 settings, a CRM that does not suit them, newer tables).
int run_service(int argc, char** argv);

}  // namespace giftsync::daemon
