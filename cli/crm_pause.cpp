#include "cli/crm_pause.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "platform/clock.h"
#include "platform/time.h"

namespace giftsync::cli {
namespace {

/// The clock is looked at again after it: it may be set, and the computer may have slept.
constexpr std::int64_t kLongestSleepMillis = 10 * platform::kSecondMillis;

}  // namespace

void wait_for_crm(const Console& console, const platform::DependencyPause& pause) {
  console.info(fmt::format("{}. Waiting; this command goes on at {}.", pause.what(),
                           platform::to_rfc3339(pause.until())));
  while (true) {
    // By the clock that the CRM's pauses are made with.
    const std::int64_t left = pause.until().value - platform::system_now().value;
    if (left <= 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left, kLongestSleepMillis)));
  }
}

}  // namespace giftsync::cli
