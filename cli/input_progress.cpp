#include "cli/input_progress.h"

#include <fmt/format.h>

namespace giftsync::cli {
namespace {

constexpr std::uint64_t kBarCells = 40;
constexpr std::uint64_t kCountStep = 10'000;

}  // namespace

InputProgress::InputProgress(const Console& console, std::optional<std::uint64_t> bytes)
    : console_(console), bytes_(bytes) {}

InputProgress::~InputProgress() {
  clear();
}

void InputProgress::update(std::uint64_t lines, std::uint64_t bytes) {
  if (!console_.err_is_terminal) {
    const std::uint64_t messages = lines / kLinesPerMessage;
    if (messages > drawn_) console_.info(fmt::format("{} lines read", messages * kLinesPerMessage));
    drawn_ = messages;
    return;
  }
  if (bytes_.value_or(kMinBytes) < kMinBytes) return;
  const std::uint64_t step = bytes_ ? bytes * 100 / *bytes_ : lines / kCountStep;
  if (step == drawn_ && visible_) return;
  drawn_ = step;
  draw(lines, bytes);
}

void InputProgress::draw(std::uint64_t lines, std::uint64_t bytes) {
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

void InputProgress::clear() {
  if (visible_) console_.err << "\r\033[K" << std::flush;
  visible_ = false;
}

}  // namespace giftsync::cli
