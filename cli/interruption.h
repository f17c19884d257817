// cli: a command that goes through many objects ends the present one when it is interrupted, and says how to
// go on.
#pragma once

namespace giftsync::cli {

/// The program was interrupted (SIGINT) and has ended in a true state; what a shell reports of that signal.
inline constexpr int kInterruptedExit = 128 + 2;

/// While it exists the first SIGINT only asks the command to end; a second one ends the program at once. Main
/// thread, no two at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static bool is_asked_for();
};

}  // namespace giftsync::cli
