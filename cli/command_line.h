// cli: giftsyncctl as one function: arguments in, text and an exit code out. Exit codes (OPS-2) are those of
// <sysexits.h>:
//   0  done                       70  a bug of giftsyncctl
//   64 the command line is wrong  73  the store's file cannot be created
//   65 input data is wrong        74  output cannot be written
//   66 no such input file         77  not allowed to open the store
//   69 the store or the CRM does not respond
//   78 the settings are wrong, the CRM does not suit them, or tables are newer than giftsyncctl
// and kOutputClosedExit; kInterruptedExit (cli/interruption.h).
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "cli/console.h"

namespace giftsync::cli {

/// The reader of the output has closed it ("head"). No message; the exit code is that of a program which
/// SIGPIPE ended (OPS-20).
inline constexpr int kOutputClosedExit = 128 + SIGPIPE;

/// Runs one command. `args` are the arguments after the program's name. Never throws.
int run_command(const std::vector<std::string>& args, const Console& console);

}  // namespace giftsync::cli
