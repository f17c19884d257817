#include "daemon/cli/console.h"

#include <poll.h>

namespace giftsync::daemon {

int Console::fail(int exit_code, std::string_view message) const {
  out.flush();  // so that a terminal shows the data first
  err << "giftsyncctl: " << message << '\n';
  return exit_code;
}

void Console::note(std::string_view message) const {
  err << message << '\n';
}

bool has_reader_left(int descriptor) {
  pollfd asked{descriptor, POLLOUT, 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace giftsync::daemon
