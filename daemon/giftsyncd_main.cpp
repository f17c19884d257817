// giftsyncd: the daemon. Everything is in daemon/process.h.
#include "daemon/process.h"

int main(int argc, char** argv) {
  return giftsync::daemon::run_daemon_process(argc, argv);
}
