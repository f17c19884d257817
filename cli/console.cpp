#include "cli/console.h"

#include <poll.h>

namespace giftsync::cli {

int Console::fail(int exit_code, std::string_view message) const {
  out.flush();  // so that a terminal shows the data first
  err << "giftsyncctl: " << message << '\n';
  return exit_code;
}

void Console::info(std::string_view message) const {
  err << message << '\n';
}

bool is_output_closed(int descriptor) {
  pollfd polled{descriptor, POLLOUT, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace giftsync::cli
