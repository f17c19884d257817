// giftsyncctl: the command line for administrators (OPS-15).
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "cli/command_line.h"
#include "cli/listing.h"
#include "platform/logging.h"

namespace {

constexpr long kDefaultColumns = 120;

/// 0 if standard output is not a terminal.
long terminal_columns() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  const char* given = std::getenv("COLUMNS");
  if (const long columns = given == nullptr ? 0 : std::atol(given); columns > 0) return columns;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultColumns;
}

}  // namespace

int giftsyncctl_main(int argc, char** argv) {
  // With a closed output a command that writes finishes its work; a listing ends by itself.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  giftsync::set_up_logging("info", false);  // standard output is the command's alone
  giftsync::cli::set_line_width(std::cout, terminal_columns());
  const giftsync::cli::Console console{std::cout,
                                       std::cerr,
                                       std::cin,
                                       isatty(STDERR_FILENO) == 1,
                                       giftsync::system_now,
                                       [] { return giftsync::cli::is_output_closed(STDOUT_FILENO); },
                                       true};
  return giftsync::cli::run_command({argv + 1, argv + argc}, console);
}
