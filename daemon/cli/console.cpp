#include "daemon/cli/console.h"

namespace giftsync::daemon {

int Console::fail(int exit_code, std::string_view message) const {
  out.flush();  // so that a terminal shows the data first
  err << "giftsyncctl: " << message << '\n';
  return exit_code;
}

void Console::note(std::string_view message) const {
  err << message << '\n';
}

}  // namespace giftsync::daemon
