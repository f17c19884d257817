// cli: the progress of long work, on stderr: a line that is drawn again on a terminal, plain lines elsewhere,
// nothing for short work. Consoles must outlive these classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/console.h"

namespace giftsync::cli {

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
  const platform::UtcMillis started_at_;
  platform::UtcMillis last_shown_at_;
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
  platform::UtcMillis last_shown_at_;
  ProgressLine line_;
};

/// "2 h 3 min", "4 min 5 s", "6 s".
std::string duration_text(std::int64_t millis);

}  // namespace giftsync::cli
