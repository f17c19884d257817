// giftsyncctl: the admin's command line (design 5).
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "daemon/cli/command_line.h"
#include "daemon/cli/text_table.h"

namespace {

constexpr long kUsualColumns = 120;

/// 0 when standard output is no terminal.
long terminal_columns() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  const char* given = std::getenv("COLUMNS");
  if (const long columns = given == nullptr ? 0 : std::atol(given); columns > 0) return columns;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kUsualColumns;
}

}  // namespace

int main(int count, char** words) {
  // A command that writes finishes its work when nobody reads what it says; one that only lists ends by
  // itself.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  giftsync::daemon::set_line_width(std::cout, terminal_columns());
  const giftsync::daemon::Console console{
      std::cout, std::cerr, std::cin, isatty(STDERR_FILENO) == 1, giftsync::daemon::system_now, [] {
        return giftsync::daemon::has_reader_left(STDOUT_FILENO);
      }};
  return giftsync::daemon::run_command({words + 1, words + count}, console);
}
