// cli: the progress of reading a file: a bar on a terminal, a line per kLinesPerMessage elsewhere, nothing
// for small files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/console.h"

namespace giftsync::cli {

class InputProgress {
 public:
  static constexpr std::uint64_t kMinBytes = std::uint64_t{1} << 20;  ///< smaller files get no bar
  static constexpr std::uint64_t kLinesPerMessage = 100'000;

  /// `bytes` is the file size; without it a count is shown. `console` must outlive this.
  InputProgress(const Console& console, std::optional<std::uint64_t> bytes);
  ~InputProgress();
  InputProgress(const InputProgress&) = delete;
  InputProgress& operator=(const InputProgress&) = delete;

  void update(std::uint64_t lines, std::uint64_t bytes);
  /// Removes the bar, so that other output can follow.
  void clear();

 private:
  void draw(std::uint64_t lines, std::uint64_t bytes);

  const Console& console_;
  const std::optional<std::uint64_t> bytes_;
  std::uint64_t drawn_ = 0;  // the last step that was shown
  bool visible_ = false;
};

}  // namespace giftsync::cli
