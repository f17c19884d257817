#include "cli/console.h"

#include <poll.h>

#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

/// What the program's own texts of several lines contain.
constexpr std::string_view kLayout = "\n\t";

}  // namespace

int Console::fail(int exit_code, std::string_view message) const {
  out.flush();  // so that a terminal shows the data first
  err << "giftsyncctl: " << platform::visible_text(message, kLayout) << '\n';
  return exit_code;
}

void Console::info(std::string_view message) const {
  err << platform::visible_text(message, kLayout) << '\n';
}

bool is_output_closed(int descriptor) {
  pollfd polled{descriptor, POLLOUT, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace giftsync::cli
