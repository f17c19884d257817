// giftsyncd: the daemon. Everything is in daemon/service.h.
#include "daemon/service.h"

int main(int argc, char** argv) {
  return giftsync::daemon::run_service(argc, argv);
}
