#include "cli/work_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace giftsync::cli {
namespace {

constexpr std::int64_t kBarCells = 30;

}  // namespace

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
      last_shown_at_(started_at_) {}

WorkProgress::~WorkProgress() {
  clear();
}

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
  const std::int64_t full = done * kBarCells / total;
  console_.err << fmt::format("\r\033[K[{:#<{}}{:.<{}}] {:3} %  {} {}{}", "", full, "", kBarCells - full,
                              done * 100 / total, done, what_, rest)
               << std::flush;
  visible_ = true;
}

void WorkProgress::clear() {
  if (visible_) console_.err << "\r\033[K" << std::flush;
  visible_ = false;
}

}  // namespace giftsync::cli
