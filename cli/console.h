// cli: the streams of a command. Data goes to `out`, messages go to `err` (OPS-16), so that a pipe or a
// script gets data only. Tests use string streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"
#include "platform/clock.h"

namespace giftsync::cli {

/// The longest name of an account, organization, user or item.
inline constexpr std::size_t kMaxNameCodePoints = 255;

class CommandAudit;

/// Why a command cannot start.
struct Refusal {
  int exit_code = 0;
  std::vector<std::string> lines;
};

struct Console {
  std::ostream& out;
  std::ostream& err;
  std::istream& in;
  bool err_is_terminal = false;  ///< progress is a bar there, plain lines elsewhere
  Clock now;
  std::function<bool()> output_closed = [] { return false; };  ///< the reader of `out` has closed it
  bool becomes_store_owner = false;  ///< root becomes the owner of the store's folder (SEC-8)
  CommandAudit* audit = nullptr;     ///< of a verb that changes; null: no event is written

  /// Prints "giftsyncctl: <message>", invisible characters escaped, and returns `exit_code`.
  int fail(int exit_code, std::string_view message) const;
  /// The same with each line.
  int fail(const Refusal& refusal) const;
  /// Prints one line of advice or information, invisible characters escaped.
  void info(std::string_view message) const;
};

/// True if the descriptor is a pipe or socket whose reader has closed it; always false for files.
bool is_output_closed(int descriptor);

// The user at the command line, recorded with admin decisions.

/// The operating system's user name; "root (sudo: ana)" if ana uses sudo; "uid 1001" for a user without a
/// name.
std::string os_user();
/// From now on os_user() is the user of now, also when this process becomes another one. Main thread.
void remember_os_user();

// The question before a command that cannot be undone (OPS-28): asked on a terminal, answered by --yes
// elsewhere.

enum class Confirmation {
  given,
  declined,
  not_possible,  ///< no terminal to ask on, and no --yes
};

/// Asks "QUESTION [y/N] " on `err` and reads one line from `in`: y or yes, in any case, confirms. Asks
/// nothing with `yes` or without a terminal.
Confirmation confirmation_of(const std::string& question, bool yes, bool is_terminal, std::istream& in,
                             std::ostream& err);

/// Adds the flag --yes.
void add_yes_flag(Command& verb, bool& yes);

/// Nothing if the command may go on; else its exit code (64), after a message. `question` says what the
/// command will do: "Cancel gift 3?". `consequence`: what is added where nothing can be asked.
std::optional<int> refuse_unconfirmed(const Console& console, bool yes, const std::string& question,
                                      const std::string& consequence = "This cannot be undone; ");

// The progress of long work, on stderr: a line that is drawn again on a terminal, plain lines elsewhere,
// nothing for short work. Consoles must outlive these classes.

/// One line on the terminal that is drawn again and again.
class ProgressLine {
 public:
  explicit ProgressLine(const Console& console) : console_(console) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);
  /// Removes the line, so that other output can follow.
  void clear();
  bool visible() const { return visible_; }

 private:
  const Console& console_;
  bool visible_ = false;
};

/// Reading a file: a bar of its bytes on a terminal, a message per kLinesPerMessage elsewhere, nothing for
/// small files.
class InputProgress {
 public:
  static constexpr std::uint64_t kMinBytes = std::uint64_t{1} << 20;  ///< smaller files get no bar
  static constexpr std::uint64_t kLinesPerMessage = 100'000;

  /// `bytes` is the file size; without it a count is shown.
  InputProgress(const Console& console, std::optional<std::uint64_t> bytes)
      : console_(console), bytes_(bytes), line_(console) {}
  void update(std::uint64_t lines, std::uint64_t bytes);
  void clear() { line_.clear(); }

 private:
  const Console& console_;
  const std::optional<std::uint64_t> bytes_;
  ProgressLine line_;
  std::uint64_t drawn_ = 0;  // the last step that was shown
};

/// Work of a known size, with rate and remaining time: a bar on a terminal, a message every ten seconds
/// elsewhere.
class WorkProgress {
 public:
  static constexpr std::int64_t kRedrawMillis = 200;
  static constexpr std::int64_t kMessageMillis = 10'000;

  /// `what` is counted: "gifts".
  WorkProgress(const Console& console, std::string what, std::int64_t total, std::int64_t done_before);
  void update(std::int64_t done);
  void clear() { line_.clear(); }

 private:
  /// "3400 gifts/s, 2 min 5 s left"
  std::string rate_text(std::int64_t done, std::int64_t elapsed_millis) const;

  const Console& console_;
  const std::string what_;
  const std::int64_t total_;
  const std::int64_t done_before_;
  const UtcMillis started_at_;
  UtcMillis last_shown_at_;
  ProgressLine line_;
};

/// A search of unknown length that has found nothing yet: where it is, on a terminal.
class SearchProgress {
 public:
  explicit SearchProgress(const Console& console)
      : console_(console), last_shown_at_(console.now()), line_(console) {}
  /// `gift` is the id up to which all were searched.
  void update(std::int64_t gift);

 private:
  const Console& console_;
  UtcMillis last_shown_at_;
  ProgressLine line_;
};

/// "2 h 3 min", "4 min 5 s", "6 s".
std::string duration_text(std::int64_t millis);

}  // namespace giftsync::cli
