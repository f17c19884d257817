#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace giftsync::cli {
namespace {

constexpr std::uint64_t kInputCells = 40;
constexpr std::uint64_t kWorkCells = 30;
constexpr std::uint64_t kCountStep = 10'000;

/// "[#####.....]  50 %".
std::string bar_text(std::uint64_t done, std::uint64_t total, std::uint64_t cells) {
  const std::uint64_t full = std::min(cells, done * cells / total);
  return fmt::format("[{:#<{}}{:.<{}}] {:3} %", "", full, "", cells - full, done * 100 / total);
}

}  // namespace

void ProgressLine::show(const std::string& text) {
  console_.err << '\r' << text << std::flush;
  visible_ = true;
}

void ProgressLine::clear() {
  if (visible_) console_.err << "\r\033[K" << std::flush;
  visible_ = false;
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
  if (step == drawn_ && line_.visible()) return;
  drawn_ = step;
  const std::string bar = bytes_ ? bar_text(bytes, *bytes_, kInputCells) + "  " : "";
  line_.show(fmt::format("{}{} lines", bar, lines));
}

std::string duration_text(std::int64_t millis) {
  const std::int64_t seconds = millis / platform::kSecondMillis;
  if (seconds >= 3600) return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
  if (seconds >= 60) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} s", seconds);
}

WorkProgress::WorkProgress(const Console& console, std::string what, std::int64_t total,
                           std::int64_t done_before)
    : console_(console),
      what_(std::move(what)),
      total_(total),
      done_before_(done_before),
      started_at_(console.now()),
      last_shown_at_(started_at_),
      line_(console) {}

std::string WorkProgress::rate_text(std::int64_t done, std::int64_t elapsed_millis) const {
  const std::int64_t done_in_this_run = done - done_before_;
  if (done_in_this_run <= 0 || elapsed_millis <= 0) return "";
  const std::int64_t left = std::max<std::int64_t>(total_ - done, 0);
  return fmt::format(", {} {}/s, {} left", done_in_this_run * platform::kSecondMillis / elapsed_millis, what_,
                     duration_text(left * elapsed_millis / done_in_this_run));
}

void WorkProgress::update(std::int64_t done) {
  const platform::UtcMillis now = console_.now();
  if (now < last_shown_at_ + (console_.err_is_terminal ? kRedrawMillis : kMessageMillis)) return;
  last_shown_at_ = now;
  // The total was counted at the start and may have grown since.
  const std::int64_t total = std::max(total_, std::max<std::int64_t>(done, 1));
  const std::string rest = rate_text(done, now.value - started_at_.value);
  if (!console_.err_is_terminal) {
    console_.info(fmt::format("{} of {} {}{}", done, total, what_, rest));
    return;
  }
  const std::string bar =
      bar_text(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total), kWorkCells);
  line_.show(fmt::format("\033[K{}  {} {}{}", bar, done, what_, rest));
}

void SearchProgress::update(std::int64_t gift) {
  const platform::UtcMillis now = console_.now();
  if (!console_.err_is_terminal || now < last_shown_at_ + WorkProgress::kRedrawMillis) return;
  last_shown_at_ = now;
  line_.show(fmt::format("\033[Ksearching, at gift {}", gift));
}

}  // namespace giftsync::cli
