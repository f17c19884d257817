// daemon/cli: how far a long command has come: a bar on a terminal, a plain line now and then elsewhere,
// nothing for short work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/cli/console.h"

namespace giftsync::daemon {

class Progress {
 public:
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;  ///< smaller files get no bar
  static constexpr std::uint64_t kLinesPerNote = 100'000;

  /// `bytes` is the whole; without it the bar is a count. `console` must outlive this.
  Progress(const Console& console, std::optional<std::uint64_t> bytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::uint64_t lines, std::uint64_t bytes);
  /// Takes the bar away, so that something else can be said.
  void clear();

 private:
  void draw(std::uint64_t lines, std::uint64_t bytes);

  const Console& console_;
  const std::optional<std::uint64_t> bytes_;
  std::uint64_t drawn_ = 0;  // what the bar last showed, in its own steps
  bool visible_ = false;
};

}  // namespace giftsync::daemon
