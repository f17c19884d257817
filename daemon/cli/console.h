// daemon/cli: what a command talks through. Data goes to `out`, everything that is said to a person to `err`
// (design 5), so that a pipe or a script gets data alone. Tests put strings in their place.
#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string_view>

#include "daemon/clock.h"

namespace giftsync::daemon {

struct Console {
  std::ostream& out;
  std::ostream& err;
  std::istream& in;
  bool err_is_terminal = false;  ///< progress is a bar there, plain lines elsewhere
  Clock now;
  std::function<bool()> reader_left = [] { return false; };  ///< nobody reads `out` any more

  /// Says what went wrong, as "giftsyncctl: <message>", and gives `exit_code` back.
  int fail(int exit_code, std::string_view message) const;
  /// One line of advice or news.
  void note(std::string_view message) const;
};

/// The descriptor is a pipe or socket that nobody reads any more; false for files, whatever ails them.
bool has_reader_left(int descriptor);

}  // namespace giftsync::daemon
