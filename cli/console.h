// cli: the streams of a command. Data goes to `out`, messages go to `err` (OPS-16), so that a pipe or a
// script gets data only. Tests use string streams.
#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string_view>

#include "platform/clock.h"

namespace giftsync::cli {

class CommandAudit;

struct Console {
  std::ostream& out;
  std::ostream& err;
  std::istream& in;
  bool err_is_terminal = false;  ///< progress is a bar there, plain lines elsewhere
  platform::Clock now;
  std::function<bool()> output_closed = [] { return false; };  ///< the reader of `out` has closed it
  bool becomes_store_owner = false;  ///< root becomes the owner of the store's folder (SEC-8)
  CommandAudit* audit = nullptr;     ///< of a verb that changes; null: no event is written

  /// Prints "giftsyncctl: <message>", invisible characters escaped, and returns `exit_code`.
  int fail(int exit_code, std::string_view message) const;
  /// Prints one line of advice or information, invisible characters escaped.
  void info(std::string_view message) const;
};

/// True if the descriptor is a pipe or socket whose reader has closed it; always false for files.
bool is_output_closed(int descriptor);

}  // namespace giftsync::cli
