#include "daemon/cli/progress.h"

#include <fmt/format.h>

namespace giftsync::daemon {
namespace {

constexpr std::uint64_t kBarCells = 40;
constexpr std::uint64_t kCountStep = 10'000;

}  // namespace

Progress::Progress(const Console& console, std::optional<std::uint64_t> bytes)
    : console_(console), bytes_(bytes) {}

Progress::~Progress() {
  clear();
}

void Progress::at(std::uint64_t lines, std::uint64_t bytes) {
  if (!console_.err_is_terminal) {
    const std::uint64_t notes = lines / kLinesPerNote;
    if (notes > drawn_) console_.note(fmt::format("{} lines read", notes * kLinesPerNote));
    drawn_ = notes;
    return;
  }
  if (bytes_.value_or(kLeastBytes) < kLeastBytes) return;
  const std::uint64_t step = bytes_ ? bytes * 100 / *bytes_ : lines / kCountStep;
  if (step == drawn_ && visible_) return;
  drawn_ = step;
  draw(lines, bytes);
}

void Progress::draw(std::uint64_t lines, std::uint64_t bytes) {
  if (bytes_) {
    const std::uint64_t full = std::min(kBarCells, bytes * kBarCells / *bytes_);
    console_.err << fmt::format("\r[{:#<{}}{:.<{}}] {:3} %  {} lines", "", full, "", kBarCells - full, drawn_,
                                lines);
  } else {
    console_.err << fmt::format("\r{} lines", lines);
  }
  console_.err << std::flush;
  visible_ = true;
}

void Progress::clear() {
  if (visible_) console_.err << "\r\033[K" << std::flush;
  visible_ = false;
}

}  // namespace giftsync::daemon
