// giftsyncctl: the admin's command line (design 5).
#include <unistd.h>

#include <iostream>

#include "daemon/cli/command_line.h"

int main(int count, char** words) {
  std::ios::sync_with_stdio(false);
  const giftsync::daemon::Console console{std::cout, std::cerr, std::cin, isatty(STDERR_FILENO) == 1,
                                          giftsync::daemon::system_now};
  return giftsync::daemon::run_command({words + 1, words + count}, console);
}
