// daemon/cli: giftsyncctl as one function: words in, text and an exit code out (design 5). Exit codes are
// those of <sysexits.h>:
//   0  done                       70  a bug of giftsyncctl
//   64 the command line is wrong  73  the store's file cannot be made
//   65 input data is wrong        74  output cannot be written
//   66 no such input file         77  not allowed to open the store
//   69 the store or the CRM does not answer
//   78 the settings are wrong, the CRM does not suit them, or tables are newer than giftsyncctl
// and kReaderLeft.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "daemon/cli/console.h"

namespace giftsync::daemon {

/// Nobody reads the output any more, such as "head", which has seen enough: nothing is said, and the shell
/// sees what it sees of other programs, which SIGPIPE ends.
inline constexpr int kReaderLeft = 128 + SIGPIPE;

/// Runs one command. `words` are the arguments after the program's name. Never throws.
int run_command(const std::vector<std::string>& words, const Console& console);

}  // namespace giftsync::daemon
